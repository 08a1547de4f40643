import type { ParamPattern, TSType } from 'oxc-parser'
import type { DeclarationFile } from '../api/declaration-file.ts'
import { declares, idOf, type Named, type PublishedApi } from './read-entries.ts'
import { declarationOf, definedType, readShape, referenceOf, type Shape } from './read-shapes.ts'
import { unionBehind } from './type-text.ts'

/** Options of one package: what it declares of what users pass. */
export interface PackageOptions {
  readonly packageName: string
  readonly shapes: readonly OptionShape[]
}

export interface OptionShape extends Shape {
  /** Functions that take it, as `new Host()` or `group.seek()`. */
  readonly takenBy: readonly string[]
}

const OPTIONS_NAME = /(?:Options|Limits)$/
const FIRST = [
  'FolderStoreOptions',
  'PostgresStoreOptions',
  'CollectionOptions',
  'ChangesOptions',
  'ChangeFeedProcessorHostOptions',
  'ViewOptions',
  'MigrationOptions',
  'SyncOptions',
  'QueueOptions',
  'Message',
  'ReceiverOptions',
]
/** What a call of Tidemark has given and takes back, and what it passes to an object of yours: no options. */
const DATA = new Set([
  'PositionsSnapshot',
  'ArchivedDocument',
  'ReceivedMessage',
  'PostgresQuery',
  'DatabaseRecord',
  'Schedule',
])
/** What packages ask each other; here and in entries for engines and tests, only names tell options of users. */
const CONTRACTS = '/packages/contracts/'

/** Every object of options that a user can pass, in the package that declares it. */
export function optionShapes(api: PublishedApi): readonly PackageOptions[] {
  const takers = new Map<string, Set<string>>()
  const wanted = new Map<string, Shape>()
  const add = (named: Named): void => {
    if (wanted.has(idOf(named))) return
    const shape = readShape(api, named)
    if (shape === undefined) return
    wanted.set(idOf(named), shape)
    for (const { from } of shape.inherited) add(from)
    for (const { type } of shape.members) {
      for (const part of type === undefined ? [] : mentioned(type, named.file, api)) {
        if (isPassed(part, api)) add(part)
      }
    }
  }
  for (const one of api.packages) {
    const main = new Set(api.exportsOf(one, '.').map(idOf))
    for (const named of api.exportsOf(one)) {
      if (OPTIONS_NAME.test(named.name)) add(named)
      const isForUsers = main.has(idOf(named)) && !named.file.path.includes(CONTRACTS)
      for (const { call, taken } of callsOf(named, api)) {
        const id = idOf(taken)
        // Fakes take the same as what they stand for.
        if (!isFake(named) || isFake(taken)) {
          takers.set(id, (takers.get(id) ?? new Set()).add(call))
        }
        if (isForUsers && !taken.file.path.includes(CONTRACTS) && isPassed(taken, api)) add(taken)
      }
    }
  }
  const shapes = inOrderOfUse([...wanted.values()], wanted, api)
  return api.packages.map((one) => ({
    packageName: one.name,
    shapes: shapes
      .filter((shape) => declares(one, shape))
      .map((shape) => ({ ...shape, takenBy: [...(takers.get(idOf(shape)) ?? [])] })),
  }))
}

/** What most users meet comes first; after each shape what it takes over and what may be in it. */
function inOrderOfUse(
  shapes: readonly Shape[],
  wanted: ReadonlyMap<string, Shape>,
  api: PublishedApi,
): readonly Shape[] {
  const ordered = new Map<string, Shape>()
  const add = (shape: Shape | undefined): void => {
    if (shape === undefined || ordered.has(idOf(shape))) return
    ordered.set(idOf(shape), shape)
    for (const { from } of shape.inherited) add(wanted.get(idOf(from)))
    for (const part of shape.members.flatMap(({ type }) => type ?? [])) {
      for (const held of mentioned(part, shape.file, api)) add(wanted.get(idOf(held)))
    }
  }
  for (const first of FIRST) add(shapes.find(({ name }) => name === first))
  for (const shape of shapes) add(shape)
  return [...ordered.values()]
}

/** Names that a type mentions outside of functions: what an object of options may hold. */
export function mentioned(
  type: TSType,
  file: DeclarationFile,
  api: PublishedApi,
): readonly Named[] {
  return definedType(type).flatMap((part) => {
    const union = unionBehind(part, file, api)
    if (union !== undefined) return mentioned(union.type, union.file, api)
    if (part.type === 'TSArrayType') return mentioned(part.elementType, file, api)
    if (part.type === 'TSTypeOperator') return mentioned(part.typeAnnotation, file, api)
    const { name, parameters } = referenceOf(part)
    if (name === 'Partial') return parameters.flatMap((one) => mentioned(one, file, api))
    const found = name === undefined ? undefined : api.find(name, file)
    return found === undefined ? [] : [found]
  })
}

/** Whether a name is an object of which a caller may leave something out. */
function isPassed(named: Named, api: PublishedApi): boolean {
  if (OPTIONS_NAME.test(named.name)) return true
  if (DATA.has(named.name)) return false
  const { members = [] } = readShape(api, named) ?? {}
  return (
    members.some(({ isOptional }) => isOptional) && members.every(({ type }) => type !== undefined)
  )
}

interface Call {
  readonly call: string
  readonly taken: Named
}

/** The calls of an exported function, class or interface, with the named types that they take. */
function callsOf(named: Named, api: PublishedApi): readonly Call[] {
  const found: Call[] = []
  const add = (call: string, params: readonly ParamPattern[]): void => {
    for (const type of params.flatMap(typeOfParameter)) {
      for (const taken of mentioned(type, named.file, api)) found.push({ call, taken })
    }
  }
  for (const { statement } of named.file.declarations.get(named.name) ?? []) {
    const node = declarationOf(statement)
    if (node.type === 'FunctionDeclaration' || node.type === 'TSDeclareFunction') {
      add(`${named.name}()`, node.params)
    } else if (node.type === 'ClassDeclaration') {
      for (const member of node.body.body) {
        if (member.type !== 'MethodDefinition' || member.key.type !== 'Identifier') continue
        if (member.accessibility === 'private') continue
        const method = `${named.name}.${member.key.name}()`
        add(member.kind === 'constructor' ? `new ${named.name}()` : method, member.value.params)
      }
    } else if (node.type === 'TSInterfaceDeclaration') {
      for (const member of node.body.body) {
        if (member.type !== 'TSMethodSignature' || member.key.type !== 'Identifier') continue
        add(`${named.name}.${member.key.name}()`, member.params)
      }
    }
  }
  return found
}

function typeOfParameter(parameter: ParamPattern): readonly TSType[] {
  if (parameter.type === 'TSParameterProperty') return typeOfParameter(parameter.parameter)
  if (parameter.type === 'AssignmentPattern') return typeOfParameter(parameter.left)
  const annotation = parameter.typeAnnotation?.typeAnnotation
  return annotation === undefined ? [] : [annotation]
}

function isFake({ file }: Named): boolean {
  return file.path.includes('/packages/testing/')
}
