import { InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import { checkPropertyCount, type StoredValue } from '@tidemark/messaging/front'
import rhea, { type Typed } from 'rhea'
import { storedValueAt } from './read-values.ts'
import { MAP_32, MAP_8, NULL } from './type-codes.ts'

/** What we use of rhea's encodings that its declarations leave out. */
interface RheaTypes {
  readonly Reader: new (bytes: Buffer) => { read(): Typed }
  readonly Writer: new () => { write(value: Typed): void; toBuffer(): Buffer }
  readonly unwrap: (value: unknown, leaveDescribed: boolean) => unknown
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations leave them out.
const { Reader, Writer, unwrap } = rhea.types as unknown as RheaTypes

/** The encoded value at `at`, which was found to be well-formed, with the types in it: what rhea unwraps has lost them. */
export function typedValueAt(bytes: Buffer, at: number): Typed {
  return new Reader(bytes.subarray(at)).read()
}

/** As it was before `typedValueAt` read it. */
export function encoded(value: Typed): Buffer {
  const writer = new Writer()
  writer.write(value)
  return writer.toBuffer()
}

/** As rhea shows it to programs: a map becomes an object. */
export function unwrapped(value: Typed | undefined): unknown {
  return unwrap(value, true) ?? undefined
}

/** A number or a symbol. Undefined: the value has none. */
export function descriptorOf(value: Typed | null | undefined): unknown {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations leave its type out.
  return unwrapped(value?.descriptor as Typed | undefined)
}

/** Undefined: the value is missing, or null. @throws ERR_INVALID_OPTION, which names the value, when it is no map */
export function mapEntries(
  map: Typed | undefined,
  name: string,
): readonly (readonly [key: string, value: Typed])[] | undefined {
  if (map === undefined || map.type.typecode === NULL) return undefined
  const { typecode } = map.type
  if (typecode !== MAP_8 && typecode !== MAP_32) {
    throw new InvalidOptionError(`${name} must be a map, got ${describeValue(unwrapped(map))}`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What rhea has read of a map: keys and values in turn.
  const items = map.value as readonly Typed[]
  return Array.from({ length: items.length / 2 }, (_, entry) => [
    String(unwrapped(items[2 * entry])),
    items[2 * entry + 1]!,
  ])
}

/** A map of application properties, with their types. @throws ERR_INVALID_OPTION, ERR_MALFORMED_MESSAGE */
export function typedProperties(
  map: Typed | undefined,
  name: string,
): Readonly<Record<string, StoredValue>> | undefined {
  const entries = mapEntries(map, name)
  if (entries === undefined) return undefined
  checkPropertyCount(entries.length)
  return Object.fromEntries(
    entries.map(([key, value]) => {
      try {
        return [key, storedValueAt(encoded(value), 0)]
      } catch (cause) {
        throw new InvalidOptionError(`${name}.${key} must be no list, map or array`, { cause })
      }
    }),
  )
}
