"""Compile small Java classes for the driver, by Spark's compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

_LOADERS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""Class loaders by gateway to Java and class name. Py4J takes classes of one name for the same class."""


def compile_classes(jvm: Any, source: Path, parent: Any) -> Any:
    """Compile a source file; return a class loader for its classes, on top of ``parent``."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source.read_text())
    return compiler.getClassLoader()


def find_loader(context: Any, source: Path, name: str) -> Any:
    """Return a class loader that knows this class and all of Spark, compiled once per Java machine."""
    jvm, loaders = context._jvm, _LOADERS.setdefault(context._gateway, {})  # noqa: SLF001 - the only way to Java
    if name not in loaders:
        loaders[name] = compile_classes(jvm, source, jvm.org.apache.spark.util.Utils.getSparkClassLoader())
    return loaders[name]


def create_instance(context: Any, source: Path, name: str) -> Any:
    """Create an object of that class."""
    jvm = context._jvm  # noqa: SLF001 - as above
    arrays = jvm.java.lang.reflect.Array
    no_types = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)
    no_values = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)
    return find_loader(context, source, name).loadClass(name).getDeclaredConstructor(no_types).newInstance(no_values)
