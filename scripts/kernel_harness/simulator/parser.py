"""PTX text to data (ptx.py). No semantics live here.

Grammar: the PTX ISA manual, "Syntax" and "State Spaces, Types, and Variables", in the form that NVVM, Triton and
inline assembly emit. Registers and labels of nested `{ }` scopes are renamed, so a kernel is one flat list.
"""

import functools
import re
import struct

from .findings import PtxSyntaxError
from .inline import expand
from .ptx import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    Location,
    Module,
    Negated,
    Pair,
    Register,
    Symbol,
    Variable,
    Vector,
    type_bytes,
)

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\s+[^,\n]+,\s*inlined_at\s+(\d+)\s+(\d+)\s+\d+)?"
)
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"[^\n]*')
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+U?|\d+U?)$")
_ADDRESS = re.compile(r"\s*(.+?)\s*(?:([+-])\s*(-?\w+)\s*)?$")
_SYMBOL = re.compile(r"([\w$.#]+?)(?:\+(\d+))?$")
_SPACE = re.compile(r"\s*")
_ASM_BEGIN, _ASM_END = re.compile(r"\.inline_asm_begin;"), re.compile(r"\.inline_asm_end;")
_IGNORED = re.compile(r"\.pragma[^;]*;|\.file[^\n]*\n|\.branchtargets[^;]*;")
_SPLITTERS = re.compile(r"[\[{(\]}),]")
_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})$|0[dD]([0-9a-fA-F]{16})$")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?$")
_REGISTER_RANGE = re.compile(r"(%?[\w$]+)<(\d+)>$")
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|common)\s+)*(?P<extern>\.extern\s+)?(?:\.(?:visible|weak)\s+)*\.(?P<space>shared|global|const|local|param)"
    r"(?:::\w+)?(?P<attributes>(?:\s+\.(?!align)(?:attribute\([^)]*\)|ptr|managed))*)(?:\s+\.align\s+(?P<align>\d+))?"
    r"\s+\.(?P<element>[a-z]\w*)(?:\s+\.ptr[^,;)]*?)?\s+(?P<name>[\w$%]+)\s*(?P<dims>(?:\[\s*\d*\s*\])*)\s*(?:=\s*(?P<values>.*))?$",
    re.S,
)
_DIRECTIVE = re.compile(
    r"\.(reqntid|maxntid|minnctapersm|maxnreg|explicitcluster|reqnctapercluster|maxclusterrank|blocksareclusters)([^.{]*)"
)


@functools.lru_cache(maxsize=16)  # a kernel that is launched often is parsed once; nobody changes a Module
def parse(text):
    """A PTX module as text -> Module. Raises PtxSyntaxError naming the statement it could not read."""
    text = text.replace("// begin inline asm", ".inline_asm_begin;").replace("// end inline asm", ".inline_asm_end;")
    module = _Parser(_COMMENT.sub(" ", text)).module()
    for kernel in module.kernels.values():
        expand(kernel, module.functions)
    return module


class _Parser:
    def __init__(self, text):
        self.text, self.at, self.result = text, 0, Module()

    def module(self):
        while self._skip_space():
            if match := self._match(_FILE):
                self.result.files[int(match.group(1))] = match.group(2)
            elif match := self._match(re.compile(r"\.(version|target|address_size)\s+([^\n]*)")):
                setattr(self.result, match.group(1), match.group(2).strip())
            elif match := self._match(re.compile(r"(?:\.(?:visible|weak|extern)\s+)*\.entry\s+([\w$]+)\s*")):
                self._entry(match.group(1))
            elif match := self._match(re.compile(r"(?:\.(?:visible|weak|extern)\s+)*\.func\b")):
                self._function()
            elif self._match(re.compile(r"\.section\b")):
                self._braced()
            elif match := self._match(_LOC) or self._match(re.compile(r"\.(pragma|alias)[^;]*;|;|\.inline_asm_\w+;")):
                pass
            else:
                self._declare(self._statement(), self.result.variables)
        return self.result

    # Lexical helpers -------------------------------------------------------------------------------------------

    def _skip_space(self):
        self.at = _SPACE.match(self.text, self.at).end()
        return self.at < len(self.text)

    def _match(self, pattern):
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def _statement(self):
        end = self.text.find(";", self.at)
        if end < 0:
            raise PtxSyntaxError(f"the PTX statement that starts with {self.text[self.at : self.at + 80]!r} has no end")
        statement, self.at = self.text[self.at : end].strip(), end + 1
        return statement

    def _braced(self):
        depth = 0
        for index in range(self.text.index("{", self.at), len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[index], 0)
            if depth == 0:
                break
        body, self.at = self.text[self.at : index + 1], index + 1
        return body

    # Declarations ----------------------------------------------------------------------------------------------

    def _declare(self, statement, into):
        match = _VARIABLE.match(statement)
        if not match:
            raise PtxSyntaxError(f"cannot read the PTX declaration {statement[:120]!r}")
        count = 1
        for dimension in re.findall(r"\[\s*(\d*)\s*\]", match["dims"] or ""):
            count *= int(dimension or 0)
        element = match["element"]
        values = []
        for value in re.findall(r"[^{},\s]+", match["values"] or ""):
            values.append(int(value.rstrip("U"), 0) if _NUMBER.match(value) else _initial_value(value))
        variable = Variable(
            match["name"],
            match["space"],
            int(match["align"] or type_bytes(element)),
            element,
            count,
            values,
            bool(match["extern"]),
        )
        into[variable.name] = variable
        return variable

    def _function(self):
        """A device function; declarations without a body belong to the device runtime."""
        returns = self._parameters() if self._skip_space() and self.text[self.at] == "(" else []
        self._skip_space()
        name = self._match(re.compile(r"[\w$]+")).group(0)
        function = Kernel(name, [], returns=returns)
        if self._body(function):
            self.result.functions[name] = function

    def _entry(self, name):
        kernel = self.result.kernels[name] = Kernel(name, [])
        self._body(kernel)

    def _body(self, kernel):
        """Parameters, directives and instructions; False where a declaration ends instead."""
        self._skip_space()
        if self.text[self.at] == "(":
            kernel.parameters = self._parameters()
        end, brace = self.text.find(";", self.at), self.text.find("{", self.at)
        if not 0 <= brace < (end if end >= 0 else len(self.text)):
            self.at = end + 1
            return False
        for directive, values in _DIRECTIVE.findall(self.text[self.at : brace]):
            kernel.directives[directive] = tuple(int(value) for value in re.findall(r"\d+", values))
        self.at = brace
        _Body(self, kernel).read()
        return True

    def _parameters(self):
        end = self.text.index(")", self.at)
        texts = [text.strip() for text in self.text[self.at + 1 : end].split(",")]
        self.at = end + 1
        return [self._declare(text, {}) for text in texts if text]


def _initial_value(text):
    if match := _FLOAT.match(text):
        return int(match.group(1) or match.group(2), 16)
    match = re.match(r"(?:generic\()?([\w$]+)\)?(?:\+(\d+))?$", text)
    if not match:
        raise PtxSyntaxError(f"cannot read the PTX initial value {text!r}")
    return (match.group(1), int(match.group(2) or 0))


class _Body:
    """Reads one kernel body; `scopes` maps the names of each open `{ }` to unique ones."""

    def __init__(self, parser, kernel):
        self.parser, self.kernel = parser, kernel
        self.scopes, self.opened = [], 0
        self.location, self.asm_location = None, None

    def read(self):
        parser = self.parser
        pending = []  # instructions whose label operands are resolved when their scope closes
        while parser._skip_space():
            character = parser.text[parser.at]
            if character == "{":
                parser.at += 1
                self.opened += 1
                self.scopes.append(({}, self.opened))
                self._collect_labels()
            elif character == "}":
                parser.at += 1
                self.scopes.pop()
                if not self.scopes:
                    return pending
            elif character == ";":
                parser.at += 1
            elif character != "." and (match := parser._match(_LABEL)):
                self.kernel.labels[self._lookup(match.group(1))] = len(self.kernel.instructions)
            elif character != ".":
                self._instruction(parser._statement())
            elif match := parser._match(_LOC):
                outer = (int(match.group(4)), int(match.group(5))) if match.group(4) else ()
                self.location = Location(int(match.group(1)), int(match.group(2)), outer)
            elif parser._match(_ASM_BEGIN):
                self.asm_location = self.location or Location(0, 0)
            elif parser._match(_ASM_END):
                self.location, self.asm_location = self.asm_location, None
            elif parser._match(_IGNORED):
                pass
            elif parser.text.startswith(".reg", parser.at):
                self._registers(parser._statement())
            else:
                self._variable(parser._statement())
        raise PtxSyntaxError(f"the body of kernel {self.kernel.name} has no closing brace")

    def _collect_labels(self):
        """Labels may be used before they appear, so a scope's own labels are named when it opens."""
        names, depth = self.scopes[-1][0], 1
        start = self.parser.at
        for match in re.finditer(r"[{}]|(?:(?<=[\s;}])|^)([A-Za-z_$][\w$]*)\s*:(?!:)", self.parser.text[start:]):
            depth += {"{": 1, "}": -1}.get(match.group(0), 0)
            if depth == 0:
                return
            if depth == 1 and match.group(1):
                names[match.group(1)] = self._unique(match.group(1))

    def _unique(self, name):
        return name if len(self.scopes) == 1 else f"{name}#{self.scopes[-1][1]}"

    def _lookup(self, name):
        for names, _ in reversed(self.scopes):
            if name in names:
                return names[name]
        return name

    def _registers(self, statement):
        match = re.match(r"\.reg\s*(?:\.v\d\s+)?\.(\w+)\s+(.*)$", statement, re.S)
        for name in match.group(2).split(","):
            name = name.strip()
            ranged = _REGISTER_RANGE.match(name)
            for single in [f"{ranged.group(1)}{i}" for i in range(int(ranged.group(2)))] if ranged else [name]:
                self.scopes[-1][0][single] = self._unique(single)
                self.kernel.registers[self._unique(single)] = match.group(1)

    def _variable(self, statement):
        variable = self.parser._declare(statement, {})
        unique = self._unique(variable.name)
        self.scopes[-1][0][variable.name] = unique
        variable.name = unique
        self.kernel.variables[unique] = variable

    def _instruction(self, statement):
        text = " ".join(statement.split())
        predicate, negated = None, False
        if text[0] == "@":
            guard, text = text[1:].split(" ", 1)
            negated = guard[0] == "!"
            predicate, text = Register(self._lookup(guard.lstrip("!"))), text.strip()
        opcode, _, rest = text.partition(" ")
        name, *modifiers = opcode.split(".")
        operands = tuple(self._operand(part) for part in _split(rest)) if rest.strip() else ()
        location = self.asm_location or self.location
        self.kernel.instructions.append(
            Instruction(name, tuple(modifiers), operands, predicate, negated, location, text)
        )

    def _operand(self, text):
        text = text.strip()
        if text[0] == "{":
            return Vector(tuple(self._operand(part) for part in _split(text[1:-1])))
        if text[0] == "(":
            return (
                Vector(tuple(self._operand(part) for part in _split(text[1:-1]))) if text[1:-1].strip() else Vector(())
            )
        if text[0] == "[":
            return self._address(_split(text[1:-1]))
        if "|" in text:
            return Pair(*(self._operand(part) for part in text.split("|")))
        if text[0] == "!":
            return Negated(self._operand(text[1:]))
        return self._atom(text)

    def _address(self, parts):
        base, sign, offset = _ADDRESS.match(parts[0]).groups()
        base = self._atom(base)
        value = int((offset or "0").rstrip("U"), 0) * (-1 if sign == "-" else 1)
        return Address(base, value, tuple(self._operand(part) for part in parts[1:]))

    def _atom(self, text):
        if text[0] in "-0123456789" and (number := _number(text)):
            return number
        name = self._lookup(text)
        if name in self.kernel.registers or text[0] == "%" or text == "_":
            return Register(name)
        symbol = _SYMBOL.match(name)
        if not symbol:
            raise PtxSyntaxError(f"cannot read the PTX operand {text!r}")
        return Symbol(symbol.group(1), int(symbol.group(2) or 0))


def _number(text):
    if match := _FLOAT.match(text):
        digits = match.group(1) or match.group(2)
        return Immediate(int(digits, 16), 4 * len(digits))
    if _NUMBER.match(text):
        return Immediate(int(text.rstrip("U"), 0))
    if _DECIMAL.match(text):
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64)
    return None


def _split(text):
    """Splits at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for match in _SPLITTERS.finditer(text):
        character = match.group()
        if character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return parts
