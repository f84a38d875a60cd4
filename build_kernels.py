"""How the kernels are compiled: pyproject.toml names this class as setuptools' ``build_ext``.

Every ``.pyx`` file below ``sklearn_adareg/_kernels`` becomes an extension module; its folder ``include`` has the headers. Code that
Cython would repeat in each of them (memoryviews, mostly) goes into one shared module, ``_cyutility``, which pyproject.toml declares
so that setuptools knows that there is something to compile. Cython runs first, in several processes; then the C compiler runs in
several threads.

Options may come from ``[build_ext]`` of a configuration file, which the environment variable ``DIST_EXTRA_CONFIG`` can name:
``debug = 1`` keeps line numbers and leaves out most optimisation, ``cython_directives = linetrace=True`` adds directives.
setuptools drops these options in an editable install; ``build_ext --inplace`` takes them.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler.Options import parse_directive_list
from Cython.Distutils.build_ext import build_ext as cython_build_ext
from setuptools import Extension
from setuptools.command.build_ext import build_ext

# Relative, as setuptools wants it: builds run in the root of the repository.
KERNELS = Path("sklearn_adareg", "_kernels")
SHARED_UTILITY = "sklearn_adareg._kernels._cyutility"
INCLUDE = KERNELS / "include"
# Arithmetic without checks: a kernel trusts the sizes that Python has validated. Kernels are not pickled: the estimators' state is
# arrays. The shared module must not bring back the GIL that no kernel asks for.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "auto_pickle": False,
    "freethreading_compatible": True,
}


class BuildKernels(build_ext):
    """setuptools' build_ext with the modules found in the kernels' folder, and the flags of each compiler."""

    def finalize_options(self):
        modules = self.distribution.ext_modules
        known = {module.name for module in modules}
        headers = sorted(path.as_posix() for path in INCLUDE.glob("*.h"))
        for path in sorted(KERNELS.rglob("*.pyx")):
            name = ".".join(path.with_suffix("").parts)
            if name not in known:  # an editable install finalises the command more than once
                modules.append(Extension(name, [path.as_posix()], depends=headers))
        super().finalize_options()
        if isinstance(self.cython_directives, str):
            self.cython_directives = parse_directive_list(self.cython_directives)

    def build_extensions(self):
        workers = os.cpu_count() or 1
        translated = cythonize(
            self.extensions,
            nthreads=0 if sys.platform == "win32" else workers,
            force=self.force,
            shared_utility_qualified_name=SHARED_UTILITY,
            compiler_directives=DIRECTIVES | self.cython_directives,
        )
        sources = {module.name: module.sources for module in translated}
        compile_args, link_args = self.flags()
        for extension in self.extensions:
            extension.sources = sources[extension.name]
            extension.include_dirs = [INCLUDE.as_posix()]
            extension.extra_compile_args = compile_args
            extension.extra_link_args = link_args
        self.parallel = self.parallel or workers
        super().build_extensions()

    def build_extension(self, ext):
        # Past Cython's own method, which would translate again, and cannot do so in threads.
        super(cython_build_ext, self).build_extension(ext)

    def flags(self):
        """Arguments for the compiler at hand, and for its linker."""
        if self.compiler.compiler_type == "msvc":
            return ["/Od" if self.debug else "/O2", "/utf-8"], []
        speed = ["-O1", "-g"] if self.debug else ["-O3", "-g0"]
        # no floating-point exception is trapped here, and without that a loop with a comparison does not become vectors
        return [*speed, "-fno-math-errno", "-fno-trapping-math"], ["-lm"]
