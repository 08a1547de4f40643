import type { TSType } from 'oxc-parser'
import type { DeclarationFile } from '../api/declaration-file.ts'
import { readDoc } from './read-doc.ts'
import { declares, idOf, type Named, type PublishedApi } from './read-entries.ts'
import { declared, membersOf, readShape, referenceOf, type Member } from './read-shapes.ts'
import { typeParts } from './type-text.ts'

export interface EventEntry {
  readonly name: string
  readonly about: string
  readonly fields: readonly EventField[]
}

export interface EventField {
  readonly name: string
  readonly type: string
  readonly about: string
}

/** Events of one emitter: the entries of an interface, or the members of a union by their `kind`. */
export interface EventTable {
  readonly name: string
  readonly about: string
  readonly events: readonly EventEntry[]
  /** Other unions whose events are also of this one. */
  readonly includes: readonly string[]
}

const MAP_NAME = /Events$/
const UNION_NAME = /Event$/

/** The events of a package, and those of unions that theirs include. */
export function readEvents(api: PublishedApi): ReadonlyMap<string, readonly EventTable[]> {
  const done = new Set<string>()
  const tables = new Map<string, EventTable[]>()
  // Umbrella packages come last, so that events are listed in the package that emits them.
  for (const one of api.packages.toReversed()) {
    const found = api.exportsOf(one).flatMap((named) => {
      if (!declares(one, named)) return []
      if (!MAP_NAME.test(named.name) && !UNION_NAME.test(named.name)) return []
      return tablesOf(named, api, done)
    })
    if (found.length > 0) tables.set(one.name, found)
  }
  return new Map([...tables].toReversed())
}

function tablesOf(named: Named, api: PublishedApi, done: Set<string>): readonly EventTable[] {
  if (done.has(idOf(named))) return []
  done.add(idOf(named))
  const { name, file } = named
  const { node, doc } = declared(named) ?? {}
  if (node === undefined || doc === undefined) return []
  const about = doc.text
  if (node.type === 'TSInterfaceDeclaration' && MAP_NAME.test(name)) {
    const own = membersOf(node.body.body, file).map((one) => entryOf(one, file, api, []))
    const others = node.extends.flatMap((one) => mapped(referenceOf(one), file, api))
    return [{ name, about, events: [...own, ...others], includes: [] }]
  }
  if (node.type !== 'TSTypeAliasDeclaration' || node.typeAnnotation.type !== 'TSUnionType')
    return []
  const members = node.typeAnnotation.types
  const included = members.flatMap((one) => {
    const found = api.find(referenceOf(one).name ?? '', file)
    return found !== undefined && UNION_NAME.test(found.name) ? [found] : []
  })
  const events = members.flatMap((one) => kindEntry(one, file, api))
  const includes = included.map((one) => one.name)
  return [{ name, about, events, includes }, ...included.flatMap((one) => tablesOf(one, api, done))]
}

/** `Of<Events>`: the entries of `Events`, each with the fields that the mapped type `Of` adds. */
function mapped(
  { name, parameters: [events] }: ReturnType<typeof referenceOf>,
  file: DeclarationFile,
  api: PublishedApi,
): readonly EventEntry[] {
  const of = api.find(name ?? '', file)
  const node = of && declared(of)?.node
  const found = events && api.find(referenceOf(events).name ?? '', file)
  const shape = found && readShape(api, found)
  if (of === undefined || found === undefined || shape === undefined) return []
  if (node?.type !== 'TSTypeAliasDeclaration' || node.typeAnnotation.type !== 'TSMappedType')
    return []
  const value = node.typeAnnotation.typeAnnotation
  const added = value === null ? [] : fieldsOf(value, of.file, api)
  return shape.members.map((one) => entryOf(one, found.file, api, added))
}

function entryOf(
  { name, type, doc }: Member,
  file: DeclarationFile,
  api: PublishedApi,
  added: readonly EventField[],
): EventEntry {
  const own = type === undefined ? [] : fieldsOf(type, file, api)
  return { name, about: doc.text, fields: [...added, ...own] }
}

function kindEntry(type: TSType, file: DeclarationFile, api: PublishedApi): readonly EventEntry[] {
  const named = api.find(referenceOf(type).name ?? '', file)
  if (named !== undefined && UNION_NAME.test(named.name)) return []
  const fields = fieldsOf(type, file, api)
  const kind = fields.find(({ name }) => name === 'kind')
  const about =
    named === undefined
      ? readDoc(file.commentBefore(barBefore(type.start, file))).text
      : (readShape(api, named)?.doc.text ?? '')
  return [
    {
      name: (kind?.type ?? '').replaceAll("'", ''),
      about,
      fields: fields.filter((one) => one !== kind),
    },
  ]
}

/** The `|` in front of a member of a union, before which its comment stands. */
function barBefore(position: number, { text }: DeclarationFile): number {
  let at = position - 1
  while (at > 0 && /[\s(]/.test(text[at] ?? '')) at -= 1
  return text[at] === '|' ? at : position
}

function fieldsOf(type: TSType, file: DeclarationFile, api: PublishedApi): readonly EventField[] {
  switch (type.type) {
    case 'TSParenthesizedType':
      return fieldsOf(type.typeAnnotation, file, api)
    case 'TSIntersectionType':
      return type.types.flatMap((one) => fieldsOf(one, file, api))
    case 'TSTypeLiteral':
      return membersOf(type.members, file).map((one) => fieldOf(one, file, api))
    case 'TSTypeReference': {
      const named = api.find(referenceOf(type).name ?? '', file)
      const shape = named && readShape(api, named)
      if (shape === undefined) return []
      const inherited = shape.inherited.flatMap(({ from }) => {
        return (readShape(api, from)?.members ?? []).map((one) => fieldOf(one, from.file, api))
      })
      return [...inherited, ...shape.members.map((one) => fieldOf(one, shape.file, api))]
    }
    default:
      return []
  }
}

function fieldOf(
  { name, type, isOptional, doc }: Member,
  file: DeclarationFile,
  api: PublishedApi,
): EventField {
  const parts = type === undefined ? [] : typeParts(type, file, api)
  const text = parts.map((part) => part.text).join(' | ')
  const isOpen =
    isOptional ||
    /\bundefined$/.test(type === undefined ? '' : file.text.slice(type.start, type.end))
  return { name, type: isOpen ? `${text} | undefined` : text, about: doc.text }
}
