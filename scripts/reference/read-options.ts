import { firstParagraph } from './read-doc.ts'
import { mentioned, optionShapes, type OptionShape } from './option-shapes.ts'
import { idOf, type Named, type PublishedApi } from './read-entries.ts'
import { readShape, type Inherited, type Member } from './read-shapes.ts'
import { typeParts } from './type-text.ts'

/** One option, complete or with what its declaration lacks. */
export interface OptionEntry {
  readonly name: string
  readonly type: string
  /** Of a number; undefined for others. */
  readonly unit: string | undefined
  readonly byDefault: string
  readonly range: string | undefined
  readonly effect: string
  /** The objects of options that it may hold. */
  readonly holds: readonly string[]
  /** What its declaration has to say besides, each as a sentence. */
  readonly gaps: readonly string[]
}

export interface OptionTable {
  readonly name: string
  readonly about: string
  readonly takenBy: readonly string[]
  readonly options: readonly OptionEntry[]
  readonly inherited: readonly Inherited[]
}

export interface PackageTables {
  readonly packageName: string
  readonly tables: readonly OptionTable[]
}

/** All public options by package. */
export function readOptions(api: PublishedApi): readonly PackageTables[] {
  const packages = optionShapes(api)
  const known = new Map(packages.flatMap(({ shapes }) => shapes.map((one) => [idOf(one), one])))
  return packages
    .filter(({ shapes }) => shapes.length > 0)
    .map(({ packageName, shapes }) => ({
      packageName,
      tables: shapes.map((shape) => ({
        name: shape.name,
        about: shape.doc.text,
        takenBy: shape.takenBy,
        options: shape.members.map((member) => entryOf(member, shape, { api, known })),
        inherited: shape.inherited.filter(({ from }) => known.has(idOf(from))),
      })),
    }))
}

/** What every signal does that does not say more. */
const SIGNAL_EFFECT = 'Ends the call: it rejects with the reason of the signal.'

interface Context {
  readonly api: PublishedApi
  readonly known: ReadonlyMap<string, OptionShape>
}

function entryOf(member: Member, { file }: Named, { api, known }: Context): OptionEntry {
  const { name, type, isOptional, doc } = member
  const parts = type === undefined ? [] : typeParts(type, file, api)
  const named = type === undefined ? [] : mentioned(type, file, api)
  const held = named.flatMap((one) => known.get(idOf(one)) ?? [])
  // A value that may also be true or false, such as one of a partition key, is no amount.
  const isNumber =
    parts.some((part) => part.isNumber) && !parts.some(({ text }) => text === 'boolean')
  const isSignal = parts.some(({ text }) => text === 'AbortSignal')
  const unit = isNumber ? (doc.tags.get('unit') ?? unitOf(name)) : undefined
  const range = doc.tags.get('range')
  const effect =
    doc.text ||
    (isSignal ? SIGNAL_EFFECT : '') ||
    parts.map((part) => part.doc).find((text) => text !== '') ||
    firstParagraph(named.map((one) => readShape(api, one)?.doc.text ?? '').find(Boolean) ?? '')
  const isOpen = held.some(({ members }) => members.every((one) => one.isOptional))
  const byDefault = isOptional
    ? (doc.tags.get('default') ?? (isSignal ? 'none' : isOpen ? 'the defaults in it' : undefined))
    : (doc.tags.get('default') ?? 'required')
  const gaps = [
    effect === '' ? 'say what it does' : '',
    byDefault === undefined ? 'add `@default` and the value, or none' : '',
    isNumber && unit === undefined ? 'add `@unit`: its name tells none' : '',
    isNumber && range === undefined ? 'add `@range`, such as 1 to 256, or any number above 0' : '',
    !isNumber && doc.tags.has('unit') ? 'only numbers have a `@unit`' : '',
  ].filter((gap) => gap !== '')
  return {
    name,
    type: parts
      .map(({ text }) => (parts.length > 1 && text.includes('=>') ? `(${text})` : text))
      .join(' | '),
    unit,
    byDefault: byDefault ?? '',
    range,
    effect,
    holds: held.map((one) => one.name),
    gaps,
  }
}

const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/Ms$/, 'ms'],
  [/Seconds$/, 's'],
  [/Bytes$/, 'bytes'],
  [/Mb$/, 'MB'],
]

/** What the end of a name tells: `delayMs`, `maxItemCount`, `leasesPerRange`, `maxAttempts`. */
function unitOf(name: string): string | undefined {
  for (const [ending, unit] of UNITS) if (ending.test(name)) return unit
  const counted = /(?<what>[A-Za-z][a-z]*)Count$/.exec(name)?.groups?.['what']
  if (counted !== undefined) return `${counted.toLowerCase()}s`
  const plural = /(?:^|(?<=[a-z])(?=[A-Z]))(?<what>[A-Za-z][a-z]+s)(?:Per[A-Z][A-Za-z]*)?$/.exec(
    name,
  )
  return plural?.groups?.['what']?.toLowerCase()
}
