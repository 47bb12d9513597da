"""A relay between browser and server, whose connections can be cut, and which can refuse new ones for a while."""

import socket
import threading


class Relay:
    def __init__(self, port):
        self.target = port
        self.isOpen = True
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, refuse=False):
        """Breaks every connection. With `refuse` none can be opened until `open` is called."""
        self.isOpen = not refuse
        for near, far in list(self.pairs):
            for end in (near, far):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def open(self):
        self.isOpen = True

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            if not self.isOpen:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = (near, far)
            self.pairs.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self._copy, args=(source, sink, pair), daemon=True).start()

    def _copy(self, source, sink, pair):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.pairs.discard(pair)
