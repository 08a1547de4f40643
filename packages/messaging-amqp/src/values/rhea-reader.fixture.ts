import rhea from 'rhea'

interface RheaReader {
  read(): { readonly descriptor?: { readonly value: unknown }; readonly value: unknown }
  readonly position: number
}

/** Where rhea ends when it reads the value at the beginning of these bytes. */
export function rheaEnd(bytes: Buffer): number {
  const reader = readerOf(bytes)
  reader.read()
  return reader.position
}

/** rhea's declarations leave this class out. */
function readerOf(bytes: Buffer): RheaReader {
  const Reader = Reflect.get(rhea.types, 'Reader') as new (bytes: Buffer) => RheaReader
  return new Reader(bytes)
}
