"""The network between clients, servers and database: TCP connections that are cut, delayed and lost as faults say."""

import random
import socket
import threading
import time

# What may become of a request in a network that loses some.
LOSSES = ["before", "half", "after", "half of the answer", "late", "slow"]
# For so long, in seconds, a late request is held back at most; its client has given it up by then.
LATEST = 3


class Link:
    """Listens on a port of 127.0.0.1, and leads each connection to where `target()` says, an address or the path of a
    socket. `loss` is the share of what clients send with which something happens, of LOSSES. With `source`, each
    connection comes from another address of this machine."""

    def __init__(self, target, seed, loss=0, source=False):
        self.target, self.loss, self.source = target, loss, source
        self.random = random.Random(seed)
        self.is_open, self.delay, self.pairs = True, 0, set()
        self.flows = threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Breaks every connection, and refuses new ones until `heal`."""
        self.is_open = False
        for pair in list(self.pairs):
            close(*pair)

    def hold(self):
        """Lets nothing through until `heal`; what is sent meanwhile arrives then."""
        self.flows.clear()

    def slow(self):
        """Delays whatever is sent, in either direction, until `heal`."""
        self.delay = 0.5

    def heal(self):
        self.is_open, self.delay = True, 0
        self.flows.set()

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        self.flows.wait()
        try:
            if not self.is_open:
                raise ConnectionRefusedError
            far = self._dial(self.target())
        except OSError:
            return close(near)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (near, far)
        self.pairs.add(pair)
        threading.Thread(target=self._copy, args=(far, near, pair, False), daemon=True).start()
        self._copy(near, far, pair, True)

    def _dial(self, target):
        if isinstance(target, str):
            far = socket.socket(socket.AF_UNIX)
            far.connect(target)
            return far
        address = f"127.{self.random.randrange(1, 255)}.{self.random.randrange(256)}.{self.random.randrange(1, 255)}"
        far = socket.create_connection(target, source_address=(address, 0) if self.source else None)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return far

    def _copy(self, source, sink, pair, is_request):
        try:
            while data := source.recv(65536):
                self.flows.wait()
                if self.delay:
                    time.sleep(self.random.uniform(0, self.delay))
                if is_request and self.random.random() < self.loss:
                    if not self._lose(data, *pair):
                        break
                else:
                    sink.sendall(data)
        except OSError:
            pass
        close(*pair)
        self.pairs.discard(pair)

    def _lose(self, data, near, far):
        """What becomes of a request. Returns whether the connection goes on."""
        loss = self.random.choice(LOSSES)
        if loss == "slow":
            for part in (data[:20], data[20:]):
                time.sleep(self.random.uniform(0, 0.3))
                far.sendall(part)
            return True
        if loss == "late":
            # The client hears nothing more, and the server gets the request when the client has gone on.
            near.shutdown(socket.SHUT_RDWR)
            time.sleep(self.random.uniform(0, LATEST))
        if loss == "half":
            far.sendall(data[:len(data) // 2])
        elif loss != "before":
            if loss != "half of the answer":
                # Nothing comes back, because the other direction finds this closed.
                near.shutdown(socket.SHUT_RDWR)
            far.sendall(data)
            if loss == "half of the answer":
                time.sleep(self.random.uniform(0, 0.005))
            else:
                # So that the server does not notice that nobody waits.
                time.sleep(self.random.uniform(0, 0.1))
        return False


def close(*sockets):
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()
