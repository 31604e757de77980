"""Programs as a model writes them, and programs that want more than their share."""

GIVEN = """
import math, re, json, datetime
from collections import Counter
from decimal import Decimal
from fractions import Fraction
"""
"""What is there without import."""

TYPICAL = {
    "days between": "(datetime.date(2024, 3, 1) - datetime.date(2023, 12, 25)).days",
    "leap day": "datetime.date(2024, 2, 29) + datetime.timedelta(days=365)",
    "weekday": "datetime.date(1949, 10, 1).strftime('%A %d %B %Y')",
    "strptime": "datetime.datetime.strptime('2024年03月05日', '%Y年%m月%d日').isoformat()",
    "only a year": "datetime.datetime.strptime('2024', '%Y')",
    "iso": "datetime.datetime.fromisoformat('2024-03-05T10:20:30+08:00').timestamp()",
    "zones": "from datetime import datetime, timezone, timedelta\n"
    "t = datetime(2024, 1, 1, 8, tzinfo=timezone(timedelta(hours=8)))\n"
    "print(t.astimezone(timezone.utc))",
    "decimal": "print(Decimal('0.1') + Decimal('0.2'), Decimal(2).sqrt())",
    "cents": "from decimal import ROUND_HALF_UP\n"
    "Decimal('2.675').quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)",
    "precision": "from decimal import getcontext\ngetcontext().prec = 50\nDecimal(1) / Decimal(7)",
    "float": "0.1 + 0.2, 1e22, 1/3, -0.0, float('nan'), 2.5e-8",
    "rounding": "round(2.675, 2), round(0.5), round(1.5), round(-2.567, 1)",
    "counter": "Counter('mississippi').most_common(3)",
    "a whole counter": "Counter('aab')",
    "counter difference": "print(Counter('aab') - Counter('ab'))",
    "regex": "re.findall(r'(\\d+)\\s*(公里|km)', '全长 120 公里, about 75 km')",
    "named groups": "re.search(r'(?P<y>\\d{4})-(?P<m>\\d\\d)', 'on 2024-03-01').groupdict()",
    "substitution": "re.sub(r'(\\d)(?=(\\d{3})+$)', r'\\1,', '1234567')",
    "mean": "import statistics\nprint(statistics.mean([1, 2, 3, 4]), statistics.stdev([1, 2, 4]))",
    "quantiles": "import statistics as s\n"
    "s.quantiles(range(1, 12), n=4), s.median_low([3, 1, 2, 4])",
    "fraction": "Fraction(1, 3) + Fraction('0.25')",
    "fractions of floats": "print(Fraction(0.1).limit_denominator(100), Fraction(3, 6))",
    "itertools": "from itertools import combinations, accumulate, groupby\n"
    "print(list(combinations('abc', 2)), list(accumulate([1, 2, 3])))\n"
    "print([(k, len(list(g))) for k, g in groupby('aabbb')])",
    "functools": "from functools import reduce, lru_cache\n@lru_cache(None)\n"
    "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n"
    "print(f(90), reduce(lambda a, b: a * b, range(1, 20)))",
    "operator": "import operator\nsorted({'b': 1, 'a': 2}.items(), key=operator.itemgetter(1))",
    "string": "import string\nstring.Template('$x 元').substitute(x=5), string.ascii_lowercase[:3]",
    "types": "from dataclasses import dataclass\nfrom enum import Enum\nfrom typing import List\n"
    "import bisect, copy, heapq, random\n@dataclass\nclass P:\n    x: int\n"
    "def f(a: List[int]) -> int:\n    return heapq.nsmallest(1, copy.copy(a))[0]\n"
    "print(P(3).x, f([3, 2]), bisect.bisect([1, 2], 2), random.Random(1).random() < 1)",
    "collections": "from collections import defaultdict, namedtuple, deque, OrderedDict\n"
    "d = defaultdict(list)\nd['a'].append(1)\nP = namedtuple('P', 'x y')\n"
    "print(dict(d), P(1, 2)._asdict(), deque([1, 2, 3], maxlen=2), list(OrderedDict(a=1)))",
    "f-strings": "n = 1234567.891\n"
    "print(f'{n:,.2f} {n:.3e} {0.1234:.1%} {42:>6} {\"好\":*^5} {n=:.1f}')",
    "percent": "'%05.1f|%-4s|%x' % (3.14159, 'ab', 255)",
    "json": "json.dumps({'名': [1, 2.5, None, True]}, ensure_ascii=False, sort_keys=True)",
    "json back": "print(json.loads('{\"a\": [1, 2, {\"b\": null}]}')['a'][2])",
    "comprehension": "{k: [x ** 2 for x in range(k) if x % 2] for k in (3, 5)}",
    "a class": "class P:\n    def __init__(self, x):\n        self.x = x\n"
    "    def double(self):\n        return self.x * 2\nprint(P(21).double())",
    "inheritance": "class A:\n    def f(self): return 'a'\nclass B(A):\n"
    "    def f(self): return super().f() + 'b'\nprint(B().f(), isinstance(B(), A))",
    "a generator": "def odd():\n    n = 1\n    while True:\n        yield n\n        n += 2\n"
    "g = odd()\nprint([next(g) for _ in range(4)])",
    "match": "match (1, 'x'):\n    case (1, s):\n        print(s)",
    "main": "def main():\n    print('ran')\nif __name__ == '__main__':\n    main()",
    "try": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print('caught', e)\n"
    "finally:\n    print('end')",
    "sorting": "sorted(['bb', 'a', 'ccc'], key=lambda s: (-len(s), s)), max([3, 1], default=0)",
    "big numbers": "math.factorial(30), 2 ** 100, math.comb(52, 5), math.gcd(84, 36)",
    "math": "math.sqrt(2), math.pi, math.log(10), math.isclose(0.1 + 0.2, 0.3), math.hypot(3, 4)",
    "bases": "bin(10), hex(255), int('ff', 16), divmod(-7, 3), 7 // -2, -7 % 3",
    "text": "'北京 上海'.split(), 'abc'[::-1], 'ß'.upper(), '１２'.isdigit(), len('😀')",
    "gbk": "len('中文'.encode('gbk')), '中'.encode().hex()",
    "walrus": "print(y := 5, y + 1); [z for x in range(3) if (z := x * 2)]",
    "nothing to show": "x = 5",
    "none at the end": "print('a'); None",
    "a text value": "'plain'",
    "printed without a newline": "print(1, 2, sep=', ', end='')",
    "complex": "(1 + 2j) * (3 - 1j), abs(3 + 4j)",
}  # fmt: skip

MONTY_DIFFERS = {
    "mean": "no statistics",
    "quantiles": "no statistics",
    "fraction": "no Fraction",
    "fractions of floats": "no Fraction",
    "operator": "no operator",
    "string": "no string",
    "types": "no enum",
    "collections": "no OrderedDict",
    "inheritance": "no base classes",
    "a generator": "no yield",
    "a whole counter": "its type is lost",
    "rounding": "2.675 is rounded up",
    "only a year": "strptime needs month and day",
    "gbk": "no such codec",
}
"""Found with 1.4; the table of decision 0009."""

GREEDY = {
    "an endless loop": "while True: pass",
    "a power of powers": "9 ** 9 ** 9",
    "a bad regular expression": "re.match('(a+)+$', 'a' * 40 + 'b')",
    "a list that grows": "x = []\nwhile True: x.append([0] * 1000)",
    "a string that grows": "s = 'x'\nwhile True: s += s",
    "bytes that grow": "b = bytearray()\nwhile True: b.extend(b'x' * 10 ** 6)",
    "a huge list": "list(range(10 ** 10))",
    "a huge text": "'x' * 10 ** 12",
    "endless recursion": "def f(): return f()\nf()",
    "deep recursion in C": "re.enum.sys.setrecursionlimit(10 ** 9)\n"
    "x = []\nfor _ in range(10 ** 7): x = [x]\nrepr(x)",
    "a flood of output": "while True: print('x' * 1000)",
    "a flood of errors": "while True: re.enum.sys.modules['os'].write(2, b'x' * 1000)",
    "a fork bomb": "while True:\n    try: re.enum.sys.modules['os'].fork()\n"
    "    except OSError: pass",
    "a thread bomb": "start = re.enum.sys.modules['_thread'].start_new_thread\nwhile True:\n"
    "    try: start(print, ())\n    except RuntimeError: pass",
    "a sleep": "re.enum.sys.modules['time'].sleep(60)",
    "a lock never opened": "lock = re.enum.sys.modules['_thread'].allocate_lock()\n"
    "lock.acquire(); lock.acquire()",
    "a loop that ignores interruptions": "while True:\n    try:\n        while True: pass\n"
    "    except BaseException: pass",
    "a loop that ignores exhaustion": "x = []\nwhile True:\n    try: x.append('a' * 10 ** 6)\n"
    "    except MemoryError: pass",
    "deep JSON": "json.loads('[' * 10 ** 6)",
    "deep source": "eval('(' * 10 ** 5 + ')' * 10 ** 5)",
    "a huge number to print": "print(10 ** 10 ** 8)",
    "a closed output": "import operator\nout = re.enum.sys.stdout\nout.close()\nwhile True: pass",
    "a lasting destructor": "class A:\n    def __del__(self):\n        while True: pass\n"
    "a = A()\ndel a",
    "a lasting __str__": "class A:\n    def __str__(self):\n        while True: pass\nA()",
    "an error that cannot be told": "class E(Exception):\n    def __str__(self):\n"
    "        while True: pass\nraise E",
    "a factorial": "math.factorial(10 ** 8)",
    "a product of sets": "from itertools import product\n"
    "sum(1 for _ in product(range(10 ** 3), repeat=9))",
}  # fmt: skip
