/** Of users who are strict. */
export const COMPILER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  module: 'nodenext',
  target: 'esnext',
  lib: ['esnext'],
  types: ['node'],
}
