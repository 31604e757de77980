"""Programs that try to leave the sandbox. Without the kernel's filter each of them succeeds.

`@FILE@` is a file with the secret, `@FOLDER@` its folder, `@PORT@` a listener on loopback,
`@PARENT@` our process, `@ADDRESS@` where its memory holds the secret. A program that cannot show
the secret or leave a trace prints ESCAPED when it got what it must not get.
"""

import platform
from dataclasses import dataclass

SECRET = "canary-4f1d9c"
VARIABLE = "TANLU_CANARY"
ESCAPED = "ESCAPED"

_OS = "sys = re.enum.sys; os = sys.modules['os']\n"
_LIBC = _OS + "ctypes = sys.modules['ctypes']; libc = ctypes.CDLL(None, use_errno=True)\n"
_LOAD = _OS + "load = sys.modules['_frozen_importlib']._gcd_import\n"
_GOT = "print('ESCAPED')"
_IF = "print('ESCAPED') if {} else print('refused')"
_NUMBERS = {
    "x86_64": {
        "openat": 257, "openat2": 437, "memfd": 319, "socket": 41, "clone": 56, "pidfd": 434,
        "bpf": 321, "keyctl": 250, "perf": 298, "uring": 425, "userfault": 323,
    },
    "aarch64": {
        "openat": 56, "openat2": 437, "memfd": 279, "socket": 198, "clone": 220, "pidfd": 434,
        "bpf": 280, "keyctl": 219, "perf": 241, "uring": 425, "userfault": 282,
    },
}  # fmt: skip
NUMBERS = _NUMBERS.get(platform.machine(), _NUMBERS["x86_64"])


@dataclass(frozen=True)
class Attack:
    """`everywhere`: whether it succeeds on any machine that does not confine it."""

    name: str
    program: str
    everywhere: bool = True


def _call(name: str, arguments: str, *, everywhere: bool = True) -> Attack:
    program = _LIBC + _IF.format(f"libc.syscall({NUMBERS[name]}, {arguments}) >= 0")
    return Attack(f"raw {name}", program, everywhere)


READING = [
    Attack("open", "print(open('@FILE@').read())"),
    Attack("json's codecs", "print(json.codecs.open('@FILE@').read())"),
    Attack(
        "all subclasses",
        "all = ().__class__.__base__.__subclasses__()\n"
        "found = [c for c in all if c.__name__ == '_wrap_close']\n"
        "inside = found[0].__init__.__globals__\n"
        "print(inside['read'](inside['open']('@FILE@', 0), 99))",
    ),
    Attack("os by way of re", _OS + "print(os.read(os.open('@FILE@', 0), 99))"),
    Attack("a module's loader", "print(re.__loader__.get_data('@FILE@'))"),
    Attack("the file class", _OS + "print(sys.modules['_io'].FileIO('@FILE@').read())"),
    Attack("builtins of a builtin", "print(print.__self__.open('@FILE@').read())"),
    Attack(
        "a frame's builtins",
        "frame = (lambda: (yield))().gi_frame\nprint(frame.f_builtins['open']('@FILE@').read())",
    ),
    Attack(
        "the C library",
        _LIBC + "kept = ctypes.create_string_buffer(99)\n"
        "libc.read(libc.open(b'@FILE@', 0), kept, 99); print(kept.value)",
    ),
    Attack(
        "a raw call",
        _LIBC + f"fd = libc.syscall({NUMBERS['openat']}, -100, b'@FILE@', 0, 0)\n"
        "kept = ctypes.create_string_buffer(99); libc.read(fd, kept, 99); print(kept.value)",
    ),
    _call("openat2", "-100, b'@FILE@', (ctypes.c_uint64 * 3)(), 24"),
    Attack("a folder's list", _OS + "print('ESCAPED', os.listdir('@FOLDER@'))"),
    Attack("a file's size", _OS + "print('ESCAPED', os.stat('@FILE@').st_size)"),
    Attack("a link of /proc", _OS + "print('ESCAPED', os.readlink('/proc/self/exe'))"),
    Attack("the working folder", _OS + "os.chdir('@FOLDER@'); print('ESCAPED')"),
    Attack("eval", "print(eval(\"print.__self__.open('@FILE@').read()\"))"),
    Attack("an open file left over", _OS + "print('ESCAPED', os.read(0, 10), os.dup(1))"),
]
ENVIRONMENT = [
    Attack("a format string", "print('{0.enum.sys.modules[os].environ}'.format(re))"),
    Attack("statistics' sys", "import statistics\nprint(statistics.sys.modules['os'].environ)"),
    Attack(
        "getenv",
        _LIBC + "libc.getenv.restype = ctypes.c_char_p; print(libc.getenv(b'TANLU_CANARY'))",
    ),
    Attack("/proc/self/environ", "print(open('/proc/self/environ').read())"),
    Attack(
        "the parent's environment", "print('ESCAPED', open('/proc/@PARENT@/environ').read()[:0])"
    ),
]
PROCESSES = [
    Attack("system", _OS + "os.system('echo > @FOLDER@/mark')"),
    Attack(
        "popen",
        "import statistics\nprint(statistics.sys.modules['os'].popen('echo ESC''APED').read())",
    ),
    Attack("fork", _OS + "child = os.fork()\nif not child: os._exit(0)\nprint('ESCAPED')"),
    Attack("spawn", _OS + "print('ESCAPED', os.posix_spawn('/bin/true', ['true'], {}))"),
    Attack("exec", _OS + "os.execv('/bin/sh', ['sh', '-c', 'echo > @FOLDER@/mark'])"),
    Attack("subprocess", _LOAD + "load('subprocess').run(['touch', '@FOLDER@/mark'])"),
    Attack("the C library's system", _LIBC + "libc.system(b'echo > @FOLDER@/mark')"),
    Attack(
        "subclasses and a string",
        "for c in object.__subclasses__():\n"
        "    if c.__name__ == '_wrap_close':\n"
        "        c.__init__.__globals__['sys' + 'tem']('echo > @FOLDER@/mark')",
    ),
    Attack(
        "a thread",
        _OS + "lock = sys.modules['_thread'].allocate_lock(); lock.acquire()\n"
        "sys.modules['_thread'].start_new_thread(lock.release, ())\n"
        "print('ESCAPED' if lock.acquire(timeout=2) else 'no')",
    ),
    Attack(
        "a raw clone",
        _LIBC + f"child = libc.syscall({NUMBERS['clone']}, 17, 0, 0, 0, 0)\n"
        "if child == 0: os._exit(0)\n" + _IF.format("child > 0"),
    ),
    Attack("exec by builtins", "print.__self__.__import__('os').system('echo > @FOLDER@/mark')"),
]
NETWORK = [
    Attack("a socket", _LOAD + "load('_socket').socket().connect(('127.0.0.1', @PORT@))"),
    Attack(
        "urllib", _LOAD + "load('urllib.request').urlopen('http://127.0.0.1:@PORT@/', timeout=1)"
    ),
    Attack(
        "the C library's socket",
        _LIBC + "to = b'\\2\\0' + (@PORT@).to_bytes(2) + bytes([127, 0, 0, 1] + [0] * 8)\n"
        "libc.connect(libc.socket(2, 1, 0), to, 16)",
    ),
    _call("socket", "2, 2, 0"),
    Attack(
        "a socket pair", _LIBC + _IF.format("libc.socketpair(1, 1, 0, (ctypes.c_int * 2)()) == 0")
    ),
]
WRITING = [
    Attack("a new file", "open('@FOLDER@/mark', 'w').write('x')"),
    Attack("a folder", _OS + "os.mkdir('@FOLDER@/mark')"),
    Attack("a link", _OS + "os.symlink('/etc', '@FOLDER@/mark')"),
    Attack("removal", _OS + "os.unlink('@FILE@')"),
    Attack("another name", _OS + "os.rename('@FILE@', '@FOLDER@/mark')"),
    Attack("rights", _OS + "os.chmod('@FILE@', 0o777)"),
    Attack("truncation", _OS + "os.truncate('@FILE@', 0)"),
    _call("memfd", "b'x', 0"),
    Attack("shared memory", _LIBC + _IF.format("libc.shmget(0, 4096, 0o1600) >= 0")),
]
_IOVEC = (
    _LIBC
    + "class Span(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
    "mine = ctypes.create_string_buffer(b'!' * {length}, {length})\n"
    "here, there = Span(ctypes.addressof(mine), {length}), Span(@ADDRESS@, {length})\n"
    "libc.process_vm_{way}(@PARENT@, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)\n"
    "print(mine.raw)"
)
PARENT = [
    Attack("its memory", _IOVEC.format(way="readv", length=len(SECRET)), everywhere=False),
    Attack("writing its memory", _IOVEC.format(way="writev", length=len(SECRET)), everywhere=False),
    Attack(
        "its memory as a file",
        "memory = open('/proc/@PARENT@/mem', 'rb', 0); memory.seek(@ADDRESS@)\n"
        f"print(memory.read({len(SECRET)}))",
        everywhere=False,
    ),
    Attack("a signal to it", _OS + "os.kill(@PARENT@, 0); print('ESCAPED')"),
    Attack("tracing", _LIBC + _IF.format("libc.ptrace(0, 0, 0, 0) == 0")),
    _call("pidfd", "@PARENT@, 0"),
    Attack("another group", _OS + "os.setpriority(0, 0, 5); print('ESCAPED')"),
]
_INT_80 = (
    "libc.mmap.restype = ctypes.c_void_p\n"
    "at = libc.mmap(ctypes.c_void_p(None), ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_long(0))\n"
    "ctypes.memmove(at, bytes.fromhex('b814000000cd80c3'), 8)\n"
    "print('ESCAPED' if ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0 else 'refused')"
)
"""getpid by `int 0x80`: machine code for x86 only, elsewhere it merely crashes."""
LIMITS = [
    Attack("a higher limit", _OS + "sys.modules['resource'].setrlimit(2, (1 << 40, -1))\n" + _GOT,
           everywhere=False),
    Attack("ignoring a signal", _OS + "sys.modules['signal'].signal(27, 1)\n" + _GOT),
    Attack("blocking a signal", _OS + "sys.modules['signal'].pthread_sigmask(0, [27])\n" + _GOT),
    Attack("stopping the timer", _OS + "sys.modules['signal'].setitimer(2, 0)\n" + _GOT),
    Attack("outliving the parent", _LIBC + _IF.format("libc.prctl(1, 0, 0, 0, 0) == 0")),
    Attack("a namespace", _LIBC + _IF.format("libc.unshare(0x10000000) == 0"), everywhere=False),
    Attack("another root", _LIBC + _IF.format("libc.chroot(b'/') == 0"), everywhere=False),
    Attack("another user", _OS + "os.setuid(os.getuid()); print('ESCAPED')"),
    _call("bpf", "0, (ctypes.c_char * 128)(), 128", everywhere=False),
    _call("keyctl", "0, -2, 1", everywhere=False),
    _call("perf", "(ctypes.c_char * 128)(), 0, -1, -1, 0", everywhere=False),
    _call("uring", "4, (ctypes.c_char * 128)()", everywhere=False),
    _call("userfault", "1", everywhere=False),
    Attack("calls of 32 bits", _LIBC + _INT_80, everywhere=False),
    Attack("x32 numbers", _LIBC + _IF.format("libc.syscall(0x40000027) > 0"), everywhere=False),
]  # fmt: skip
_UNLISTED = [
    "os", "sys", "socket", "subprocess", "ctypes", "time", "json.tool", "collections.os",
]  # fmt: skip
IMPORTS = [
    Attack(
        "imports outside the list",
        f"for name in {_UNLISTED}:\n"
        "    for line in (f'import {name}', f'from {name} import *', f'__import__({name!r})'):\n"
        "        try:\n            exec(line)\n            print('ESCAPED', line)\n"
        "        except ImportError:\n            pass",
        everywhere=False,
    ),
]
ATTACKS = [*READING, *ENVIRONMENT, *PROCESSES, *NETWORK, *WRITING, *PARENT, *LIMITS, *IMPORTS]
