"""A stand-in for Ray that runs actors in this process: as much of it as `generate.on_ray` uses."""

import sys
import types
from concurrent.futures import Future, ThreadPoolExecutor


class RayError(Exception):
    """As Ray's."""


class Method:
    """A method of an actor."""

    def __init__(self, actor, name):
        self._actor, self._name = actor, name

    def remote(self, *arguments):
        return self._actor.pool.submit(lambda: getattr(self._actor.made.result(), self._name)(*arguments))


class Actor:
    """An object whose methods run in threads."""

    def __init__(self, kind, arguments):
        self.pool = ThreadPoolExecutor()
        self.made = self.pool.submit(kind, *arguments)
        self.killed = False

    def __getattr__(self, name):
        return Method(self, name)


class FakeRay(types.ModuleType):
    """The modules `ray`, `ray.exceptions` and `ray.cloudpickle`, with what was asked of them."""

    def __init__(self, nodes):
        super().__init__("ray")
        self._nodes = nodes
        self.actors = []
        self.started_with = None
        self.is_running = False
        self.exceptions = types.ModuleType("ray.exceptions")
        self.exceptions.RayError = RayError
        self.cloudpickle = types.ModuleType("ray.cloudpickle")
        self.cloudpickle.register_pickle_by_value = lambda module: None

    def install(self, patch):
        """Be what is imported as Ray; a module that has imported another one is forgotten."""
        for module in (self, self.exceptions, self.cloudpickle):
            patch.setitem(sys.modules, module.__name__, module)
        patch.delitem(sys.modules, "loadcurve.generate.on_ray", raising=False)

    def init(self, **arguments):
        self.started_with = arguments
        self.is_running = True

    def shutdown(self):
        self.is_running = False

    def nodes(self):
        return self._nodes

    def remote(self, kind):
        ray = self

        class Options:
            def options(self, **options):
                self.chosen = options
                return self

            def remote(self, *arguments):
                actor = Actor(kind, arguments)
                actor.options = self.chosen
                ray.actors.append(actor)
                return actor

        return Options()

    def get(self, asked, timeout=None):
        return asked.result(timeout) if isinstance(asked, Future) else [one.result(timeout) for one in asked]

    def kill(self, actor):
        actor.killed = True
