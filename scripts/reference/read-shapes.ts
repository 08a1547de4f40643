import type { Statement, TSInterfaceHeritage, TSSignature, TSType } from 'oxc-parser'
import type { DeclarationFile } from '../api/declaration-file.ts'
import { readDoc, type Doc } from './read-doc.ts'
import type { Named, PublishedApi } from './read-entries.ts'

/** A property or a function of an object type, as its source declares it. */
export interface Member {
  readonly name: string
  readonly type: TSType | undefined
  readonly isOptional: boolean
  readonly doc: Doc
}

/** Properties that a shape has from another one: all, or only `taken`, or all without `left`. */
export interface Inherited {
  readonly from: Named
  readonly taken: readonly string[] | undefined
  readonly left: readonly string[]
}

/** An object type: an interface, or a type that says the same. */
export interface Shape extends Named {
  readonly doc: Doc
  readonly members: readonly Member[]
  readonly inherited: readonly Inherited[]
}

/** A named object type; undefined when the name is something else, such as a class or a union. */
export function readShape(api: PublishedApi, { name, file }: Named): Shape | undefined {
  const { node, doc } = declared({ name, file }) ?? {}
  if (node === undefined || doc === undefined) return undefined
  if (node.type === 'TSInterfaceDeclaration') {
    const inherited = node.extends.flatMap((one) => inheritedOf(one, file, api))
    return { name, file, doc, members: membersOf(node.body.body, file), inherited }
  }
  if (node.type !== 'TSTypeAliasDeclaration') return undefined
  const type = node.typeAnnotation
  const parts = type.type === 'TSIntersectionType' ? type.types : [type]
  const literals = parts.filter((one) => one.type === 'TSTypeLiteral')
  if (literals.length === 0) return undefined
  const members = literals.flatMap((one) => membersOf(one.members, file))
  const inherited = parts.flatMap((one) => inheritedOf(one, file, api))
  return { name, file, doc, members, inherited }
}

/** The first declaration of a name, with its comment. */
export function declared({ name, file }: Named):
  | {
      readonly node: Statement
      readonly doc: Doc
    }
  | undefined {
  const statement = file.declarations.get(name)?.[0]?.statement
  if (statement === undefined) return undefined
  return { node: declarationOf(statement), doc: readDoc(file.commentBefore(statement.start)) }
}

export function declarationOf(statement: Statement): Statement {
  return statement.type === 'ExportNamedDeclaration' && statement.declaration !== null
    ? statement.declaration
    : statement
}

export function membersOf(signatures: readonly TSSignature[], file: DeclarationFile): Member[] {
  return signatures.flatMap((one): Member[] => {
    if (one.type !== 'TSPropertySignature' && one.type !== 'TSMethodSignature') return []
    if (one.key.type !== 'Identifier') return []
    const type = one.type === 'TSPropertySignature' ? one.typeAnnotation?.typeAnnotation : undefined
    const doc = readDoc(file.commentBefore(one.start))
    return [{ name: one.key.name, type, isOptional: one.optional, doc }]
  })
}

/** A type without `| undefined`, and without what is around it: parentheses. */
export function definedType(type: TSType): readonly TSType[] {
  if (type.type === 'TSParenthesizedType') return definedType(type.typeAnnotation)
  if (type.type === 'TSUnionType') return type.types.flatMap(definedType)
  return type.type === 'TSUndefinedKeyword' ? [] : [type]
}

type Reference = TSInterfaceHeritage | TSType

function inheritedOf(node: Reference, file: DeclarationFile, api: PublishedApi): Inherited[] {
  const { name, parameters } = referenceOf(node)
  if (name === undefined) return []
  const [first, second] = parameters
  if (first !== undefined && (name === 'Partial' || name === 'Required' || name === 'Readonly')) {
    return inheritedOf(first, file, api)
  }
  if (first !== undefined && second !== undefined && (name === 'Omit' || name === 'Pick')) {
    const names = definedType(second).flatMap((one) =>
      one.type === 'TSLiteralType' && one.literal.type === 'Literal'
        ? [String(one.literal.value)]
        : [],
    )
    return inheritedOf(first, file, api).map((one) =>
      name === 'Pick' ? { ...one, taken: names } : { ...one, left: names },
    )
  }
  const from = api.find(name, file)
  return from === undefined ? [] : [{ from, taken: undefined, left: [] }]
}

/** The name and the type arguments of `Name<…>`, in `extends` or as a type. */
export function referenceOf(node: Reference): {
  readonly name: string | undefined
  readonly parameters: readonly TSType[]
} {
  const isReference = node.type === 'TSTypeReference' || node.type === 'TSInterfaceHeritage'
  if (!isReference) return { name: undefined, parameters: [] }
  const id = node.type === 'TSTypeReference' ? node.typeName : node.expression
  return {
    name: id.type === 'Identifier' ? id.name : undefined,
    parameters: node.typeArguments?.params ?? [],
  }
}
