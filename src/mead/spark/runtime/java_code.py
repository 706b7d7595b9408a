"""Compile small Java classes for the driver, by Spark's compiler."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

_LOADERS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""Class loaders by gateway to Java and class name. Py4J takes classes of one name for the same class."""


def compile_classes(jvm: Any, source: str, parent: Any) -> Any:
    """Return a class loader for the classes of this source text, on top of ``parent``."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler.getClassLoader()


def find_loader(context: Any, source: str, name: str) -> Any:
    """Return a class loader that knows this class, compiled once per Java machine, and all of Spark."""
    jvm, loaders = context._jvm, _LOADERS.setdefault(context._gateway, {})  # noqa: SLF001 - the only way to Java
    if name not in loaders:
        loaders[name] = compile_classes(jvm, source, jvm.org.apache.spark.util.Utils.getSparkClassLoader())
    return loaders[name]


def create_instance(context: Any, source: str, name: str) -> Any:
    """Create an object of that class."""
    jvm = context._jvm  # noqa: SLF001 - as above
    arrays = jvm.java.lang.reflect.Array
    no_types = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)
    no_values = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)
    return find_loader(context, source, name).loadClass(name).getDeclaredConstructor(no_types).newInstance(no_values)
