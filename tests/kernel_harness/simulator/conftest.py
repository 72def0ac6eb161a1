import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # lane_corpus.py and group_corpus.py beside the tests
