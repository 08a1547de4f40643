import rhea from 'rhea'

interface RheaReader {
  read(): unknown
  readonly position: number
}

/** Where rhea ends when it reads the value at the beginning of these bytes. Its declarations leave this class out. */
export function rheaEnd(bytes: Buffer): number {
  const Reader = Reflect.get(rhea.types, 'Reader') as new (bytes: Buffer) => RheaReader
  const reader = new Reader(bytes)
  reader.read()
  return reader.position
}
