import type { TSType } from 'oxc-parser'
import type { DeclarationFile } from '../api/declaration-file.ts'
import type { PublishedApi } from './read-entries.ts'
import { declared, definedType, membersOf, readShape, referenceOf } from './read-shapes.ts'

/** A part of a type as a page shows it. */
export interface TypePart {
  readonly text: string
  /** Whether it is a number, a list of numbers, or an object with one in it. */
  readonly isNumber: boolean
  /** The doc of the name that stands for it. */
  readonly doc: string
}

/** The alternatives of a type. Names of unions are followed, so that a reader sees the values. */
export function typeParts(
  type: TSType,
  file: DeclarationFile,
  api: PublishedApi,
): readonly TypePart[] {
  return definedType(type).flatMap((part): readonly TypePart[] => {
    const union = unionBehind(part, file, api)
    if (union !== undefined) {
      const parts = typeParts(union.type, union.file, api)
      return parts.map((one) => ({ ...one, doc: union.doc || one.doc }))
    }
    const text = file.text.slice(part.start, part.end).replaceAll(/\s+/g, ' ')
    return [{ text, isNumber: hasNumber(part, file, api), doc: '' }]
  })
}

interface Behind {
  readonly type: TSType
  readonly file: DeclarationFile
  readonly doc: string
}

/** What stands behind the name of a union, or behind `Options['name']`. */
export function unionBehind(
  type: TSType,
  file: DeclarationFile,
  api: PublishedApi,
): Behind | undefined {
  if (type.type === 'TSIndexedAccessType') {
    const { objectType, indexType } = type
    const found = api.find(referenceOf(objectType).name ?? '', file)
    const shape = found && readShape(api, found)
    const [key] = indexType.type === 'TSLiteralType' ? [indexType.literal] : []
    const member = shape?.members.find(({ name }) => key?.type === 'Literal' && name === key.value)
    return found && member?.type && { type: member.type, file: found.file, doc: '' }
  }
  const { name } = referenceOf(type)
  const found = name === undefined ? undefined : api.find(name, file)
  const { node, doc } = (found && declared(found)) ?? {}
  if (found === undefined || node?.type !== 'TSTypeAliasDeclaration') return undefined
  if (!isUnion(node.typeAnnotation)) return undefined
  return { type: node.typeAnnotation, file: found.file, doc: doc?.text ?? '' }
}

function isUnion(type: TSType): boolean {
  return ['TSUnionType', 'TSLiteralType', 'TSIndexedAccessType', 'TSNumberKeyword'].includes(
    type.type,
  )
}

function hasNumber(type: TSType, file: DeclarationFile, api: PublishedApi): boolean {
  switch (type.type) {
    case 'TSNumberKeyword':
      return true
    case 'TSArrayType':
      return typeParts(type.elementType, file, api).some(({ isNumber }) => isNumber)
    case 'TSTypeOperator':
      return hasNumber(type.typeAnnotation, file, api)
    case 'TSTypeLiteral':
      return membersOf(type.members, file).some(
        (one) =>
          one.type !== undefined && typeParts(one.type, file, api).some(({ isNumber }) => isNumber),
      )
    default:
      return false
  }
}
