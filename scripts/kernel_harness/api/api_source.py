"""Read the public names of the CuTe DSL package from its Python source, by parsing alone (stdlib only).

`build(root)` follows imports, re-exports, aliases and `__all__` from the package's top, so that every public path of a
name leads to its definition: signature, docstring, file and line.
"""

import ast
import re
from pathlib import Path

_SPECIAL = ("__call__", "__tvm_ffi_object__")  # methods that users name
# Where the public names come from, not where a kernel gets them.
_INTERNAL = ("cutlass.base_dsl", "cutlass.cutlass_dsl", "cutlass.compiler", "cutlass.impl_utils", "cutlass._")
_DOC_CHARACTERS = 4000


def build(root: Path) -> dict:
    """Parse the package at `root` (a folder named cutlass): {"entries": {path: [...]}, "aliases": {path: path}}."""
    return _Builder(root).build()


class _Builder:
    def __init__(self, root: Path):
        self.root = root
        self.modules: dict[str, ast.Module] = {}
        self.files: dict[str, str] = {}
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[0] == "_mlir" and (parts[1:2] != ("dialects",) or parts[-1].endswith("_ops_gen")):
                continue  # generated; only its enums are part of the API
            name = ".".join(("cutlass", *(parts[:-1] if parts[-1] == "__init__" else parts)))
            self.modules[name] = ast.parse(path.read_text(encoding="utf-8"))
            self.files[name] = str(path.relative_to(root))
        self._bindings: dict[str, dict] = {}

    def build(self) -> dict:
        entries, aliases, home = {}, {}, {}
        queue, seen = [("cutlass", "cutlass")], {}
        while queue:  # breadth first: the first path to reach a thing is its shortest
            public, module = queue.pop(0)
            if seen.get(module, 0) >= 3:
                continue
            seen[module] = seen.get(module, 0) + 1
            if public.startswith(_INTERNAL):
                continue
            if public != "cutlass":
                entries.setdefault(public, self._module_entry(module))
            for name, found in self._exports(module):
                path = f"{public}.{name}"
                if found[0] == "module":
                    if found[1] not in ("cutlass.base_dsl", "cutlass.cutlass_dsl", public):
                        queue.append((path, found[1]))
                elif (key := (found[0], found[1].lineno, name)) in home:
                    aliases[path] = home[key]
                    for inner in [p for p in entries if p.startswith(home[key] + ".")]:
                        aliases[path + inner[len(home[key]) :]] = inner
                else:
                    home[key] = path
                    self._add(entries, path, found)
            if module in self.modules and self.files[module].endswith("__init__.py"):
                inner = [name for name in self.modules if name.rpartition(".")[0] == module]
                queue += [(f"{public}.{name.rpartition('.')[2]}", name) for name in inner if "._" not in name]
        return {"entries": entries, "aliases": aliases}

    # -- names of a module -----------------------------------------------------------------------------------------

    def bindings(self, module: str) -> dict:
        """Name to (kind, node) of every top-level binding of a module, stars expanded, in order."""
        if module not in self._bindings:
            table = self._bindings[module] = {}
            self._collect(module, self.modules[module].body, table)
        return self._bindings[module]

    def _collect(self, module: str, body: list, table: dict) -> None:
        package = module if self.files[module].endswith("__init__.py") else module.rpartition(".")[0]
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                overload = any("overload" in ast.unparse(d) for d in node.decorator_list)
                if not overload:
                    table[node.name] = ("define", node)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        table[target.id] = ("assign", node)
                        table.update(_moved_names(target.id, node.value))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("cutlass"):
                        table[alias.asname or "cutlass"] = ("import", alias.name if alias.asname else "cutlass", None)
            elif isinstance(node, ast.ImportFrom):
                source = _source_module(node, package)
                for alias in node.names:
                    if alias.name != "*":
                        table[alias.asname or alias.name] = ("import", source, alias.name)
                    elif source in self.modules:
                        for name in self._public(source):
                            table[name] = ("import", source, name)
            elif isinstance(node, ast.For):
                self._collect_loop(node, table)
            elif isinstance(node, ast.If | ast.Try):
                for part in (node.body, node.orelse, getattr(node, "finalbody", [])):
                    self._collect(module, part, table)

    def _collect_loop(self, node: ast.For, table: dict) -> None:
        """`for name in NAMES: globals()[name] = wrap(getattr(source, name))` binds each of NAMES to source's."""
        names = table.get(node.iter.id) if isinstance(node.iter, ast.Name) else None
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and ast.unparse(n.func) == "getattr"]
        source = table.get(ast.unparse(calls[0].args[0])) if calls else None
        if names and names[0] == "assign" and source and source[0] == "import":
            module = source[1] if source[2] is None else f"{source[1]}.{source[2]}"
            for item in ast.walk(names[1].value):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    table[item.value] = ("import", module, item.value)

    def _public(self, module: str) -> list[str]:
        table = self.bindings(module)
        listed = self._all_of(module)
        return listed if listed is not None else [name for name in table if not name.startswith("_")]

    def _all_of(self, module: str) -> list[str] | None:
        node = self.bindings(module).get("__all__")
        if not node or node[0] != "assign" or not isinstance(node[1].value, ast.List | ast.Tuple):
            return None
        names = []
        for item in node[1].value.elts:
            if isinstance(item, ast.Constant):
                names.append(item.value)
            elif isinstance(item, ast.Starred) and isinstance(item.value, ast.Attribute):  # *common.__all__
                inner = self.resolve(module, ast.unparse(item.value.value))
                names += (self._all_of(inner[1]) or []) if inner and inner[0] == "module" else []
        return names

    def _exports(self, module: str):
        table = self.bindings(module)
        listed = set(self._all_of(module) or ())
        package = self.files[module].endswith("__init__.py")
        for name, binding in table.items():
            if name.startswith("_") or not (package or name in listed or self._belongs(module, binding)):
                continue
            found = self.resolve(module, name)
            if found:
                yield name, found

    @staticmethod
    def _belongs(module: str, binding: tuple) -> bool:
        """A plain module owns what it defines and what it takes from its namesake in base_dsl."""
        return binding[0] != "import" or binding[1].rpartition(".")[2] == module.rpartition(".")[2]

    def resolve(self, module: str, name: str, depth: int = 0):
        """("module", path), or (module, node, deprecation); None when the name leaves the package's source."""
        if f"{module}.{name}" in self.modules and name not in self.bindings(module):
            return "module", f"{module}.{name}"
        binding = self.bindings(module).get(name)
        if binding is None or depth > 12:
            return None
        if binding[0] == "define":
            return module, binding[1], _deprecation(binding[1])
        if binding[0] == "moved":
            return module, binding[1], binding[2]
        if binding[0] == "import":
            source, inner = binding[1], binding[2]
            if inner is None:
                return ("module", source) if source in self.modules else None
            if f"{source}.{inner}" in self.modules:
                return "module", f"{source}.{inner}"
            return self.resolve(source, inner, depth + 1) if source in self.modules else None
        return self._resolve_value(module, binding[1], depth)

    def _resolve_value(self, module: str, node, depth: int):
        """An alias resolves to what it names; anything else stands for itself."""
        value = node.value
        if isinstance(value, ast.Name | ast.Attribute):
            head, *rest = ast.unparse(value).split(".")
            found = self.resolve(module, head, depth + 1)
            for part in rest:
                if found and found[0] == "module":
                    found = self.resolve(found[1], part, depth + 1)
                elif found and isinstance(found[1], ast.ClassDef):
                    member = self._members(found[0], found[1]).get(part)
                    found = (*member, "") if member else None
                else:
                    found = None
            if found:
                return found
        return module, node, ""

    # -- entries ---------------------------------------------------------------------------------------------------

    def _module_entry(self, module: str) -> list:
        doc = ast.get_docstring(self.modules[module]) or ""
        return ["module", "", doc[:_DOC_CHARACTERS], self.files[module], 1, ""]

    def _add(self, entries: dict, path: str, found: tuple) -> None:
        module, node, deprecated = found
        file, name = self.files[module], path.rpartition(".")[2]
        if isinstance(node, ast.FunctionDef):
            entries[path] = ["function", f"{name}{_arguments(node)}", _doc(node), file, node.lineno, deprecated]
        elif isinstance(node, ast.ClassDef):
            entries[path] = ["class", f"{name}{self._init(module, node)}", _doc(node), file, node.lineno, deprecated]
            for member, (where, inner) in self._members(module, node).items():
                entries[f"{path}.{member}"] = _member(member, inner, self.files[where])
        elif isinstance(node, ast.Constant):
            entries[path] = ["value", name, deprecated, file, node.lineno, deprecated]
        elif instance := self._instance_of(module, node):
            call = self._members(*instance).get("__call__")
            signature = f"{name}{_arguments(call[1], drop_first=True)}" if call else ast.unparse(node)
            entries[path] = ["value", signature, _doc(instance[1]), file, node.lineno, deprecated]
            for member, (where, inner) in self._members(*instance).items():
                entries[f"{path}.{member}"] = _member(member, inner, self.files[where])
        else:
            text = ast.unparse(node)
            entries[path] = ["value", text[:300], "", file, node.lineno, deprecated]

    def _instance_of(self, module: str, node) -> tuple | None:
        """(module, class) when the node assigns `Class(...)`."""
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name | ast.Attribute):
            return None
        found = self._resolve_value(module, ast.Assign(targets=[], value=value.func), 0)
        return found[:2] if found[0] != "module" and isinstance(found[1], ast.ClassDef) else None

    def _members(self, module: str, node: ast.ClassDef, depth: int = 0) -> dict:
        members = {}
        for base in node.bases if depth < 6 else ():
            found = self.resolve(module, base.id) if isinstance(base, ast.Name) else None
            if found and found[0] != "module" and isinstance(found[1], ast.ClassDef):
                members |= self._members(found[0], found[1], depth + 1)
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and (not inner.name.startswith("_") or inner.name in _SPECIAL):
                members[inner.name] = (module, inner)
            elif isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                members.setdefault(inner.targets[0].id, (module, inner))
            elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                members.setdefault(inner.target.id, (module, inner))
            elif isinstance(inner, ast.ClassDef):
                members[inner.name] = (module, inner)
        return {name: value for name, value in members.items() if not name.startswith("_") or name in _SPECIAL}

    def _init(self, module: str, node: ast.ClassDef) -> str:
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                return _arguments(inner, drop_first=True).replace(" -> None", "")
        if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            fields = [inner for _, inner in self._members(module, node).values() if isinstance(inner, ast.AnnAssign)]
            fields = [ast.unparse(f) for f in fields if "ClassVar" not in ast.unparse(f.annotation)]
            return f"({', '.join(fields)})"
        for base in node.bases:
            found = self.resolve(module, base.id) if isinstance(base, ast.Name) else None
            if found and found[0] != "module" and isinstance(found[1], ast.ClassDef) and found[1] is not node:
                return self._init(found[0], found[1])
        return ""


def _source_module(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join(base + ([node.module] if node.module else []))


def _moved_names(table: str, value) -> dict:
    """Names that a module hands out through __getattr__ with a warning: its dict of deprecated or moved names."""
    if not isinstance(value, ast.Dict) or not re.search("deprecated|moved", table, re.IGNORECASE):
        return {}
    found = {}
    for key, item in zip(value.keys, value.values, strict=True):
        texts = [c.value for c in ast.walk(item) if isinstance(c, ast.Constant) and isinstance(c.value, str)]
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and texts:
            message = texts[-1] if " " in texts[-1] else f"moved to {texts[-1]}.{key.value}"
            found[key.value] = ("moved", key, message)
    return found


def _deprecation(node) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and "deprecated" in ast.unparse(decorator.func):
            texts = [c.value for c in ast.walk(decorator) if isinstance(c, ast.Constant) and isinstance(c.value, str)]
            return " ".join("".join(texts).split()) or "deprecated"
    return ""


def _arguments(node: ast.FunctionDef, drop_first: bool = False) -> str:
    # loc and ip are compiler plumbing that no kernel passes
    arguments = ast.unparse(node.args)
    parts = re.sub(r", (loc|ip)(: [^,]*?)?( ?= ?None)(?=,|$)", "", arguments)
    parts = re.sub(r"(^|, )\*$", "", parts).replace("*, **", "**")
    if drop_first:
        parts = re.sub(r"^self(, )?", "", parts)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({parts}){returns}"


def _doc(node) -> str:
    return (ast.get_docstring(node) or "")[:_DOC_CHARACTERS]


def _member(name: str, node, file: str) -> list:
    if isinstance(node, ast.FunctionDef):
        kind = "attribute" if any("property" in ast.unparse(d) for d in node.decorator_list) else "method"
        return [kind, f"{name}{_arguments(node)}", _doc(node), file, node.lineno, _deprecation(node)]
    if isinstance(node, ast.ClassDef):
        return ["class", name, _doc(node), file, node.lineno, _deprecation(node)]
    return ["attribute", ast.unparse(node)[:200], "", file, node.lineno, ""]
