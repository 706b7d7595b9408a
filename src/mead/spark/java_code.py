"""Small Java classes, compiled when they are needed by the compiler that Spark ships. Only the driver knows them."""

from __future__ import annotations

from typing import Any


def class_loader(jvm: Any, source: str, parent: Any) -> Any:
    """Knows the classes of this source text, and all that ``parent`` knows."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler.getClassLoader()


def instance(jvm: Any, source: str, name: str) -> Any:
    """A new object of that class."""
    loader = class_loader(jvm, source, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    arrays = jvm.java.lang.reflect.Array
    no_types = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)
    no_values = arrays.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)
    return loader.loadClass(name).getDeclaredConstructor(no_types).newInstance(no_values)
