"""Small Java classes, compiled when they are needed by the compiler that Spark ships. Only the driver knows them."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""By Java machine and name. Python's bridge to Java takes classes of the same name for the same class."""


def class_loader(jvm: Any, source: str, parent: Any) -> Any:
    """Knows the classes of this source text, and all that ``parent`` knows."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler.getClassLoader()


def instance(context: Any, source: str, name: str) -> Any:
    """A new object of that class, for a Spark context. It is compiled once."""
    jvm, classes = context._jvm, _CLASSES.setdefault(context._gateway, {})  # noqa: SLF001 - the only way to Java
    if name not in classes:
        loader = class_loader(jvm, source, jvm.java.lang.Thread.currentThread().getContextClassLoader())
        classes[name] = loader.loadClass(name)
    arrays = jvm.java.lang.reflect.Array
    no_types = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)
    no_values = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)
    return classes[name].getDeclaredConstructor(no_types).newInstance(no_values)
