"""How large a manifest may be, and the words for what no manifest may hold, wherever its values come from."""

import sys

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_NODES = 5_000
MAX_NUMBER = int(sys.float_info.max)

# A file of five thousand wrong values needs no five thousand answers.
MAX_FAULTS = 100

TOO_LARGE = f"The file is larger than {MAX_BYTES // 1024} KiB; move long texts to files of their own and name those."
TOO_DEEP = f"The values are nested over {MAX_DEPTH} levels deep; write them flatter."
TOO_MANY = f"There are more than {MAX_NODES:,} keys and values; move data to a file of its own and name that."
NOT_FINITE = "Infinity and NaN are not accepted; write a finite number, or put the word in quotes."
NUMBER_TOO_LARGE = "The number is too large for a double; put it in quotes to have it as a string."
NUL = "The character U+0000 is not accepted; leave it out."
NOT_UNICODE = "The text is not valid Unicode (it holds half of a surrogate pair); save it as UTF-8 anew."
KEY_NOT_STRING = "A key must be a string; put it in quotes."
