import { murmur3x86 } from '@tidemark/contracts/internal'
import type { Statements } from '../connection/statements.ts'

/** The step from the previous version of a schema to this one. Released steps are never changed. */
export interface SchemaStep {
  /** A title for people. */
  readonly title: string
  /** Statements that create and change tables, indexes and sequences; no functions. */
  readonly ddl: string
}

/** What a program expects of a schema: version n is the result of the first n steps, and has these functions. */
export interface SchemaProgram {
  readonly steps: readonly SchemaStep[]
  /**
   * Texts of `CREATE FUNCTION`, in an order in which each finds the functions that it calls. They belong to the
   * version: to change one after a release needs a new step, even if it is empty.
   */
  readonly functions: readonly string[]
}

/** A table, index, sequence or function of the schema, by its kind and name: `table doc`. */
export type SchemaObject = `${'table' | 'index' | 'sequence' | 'function'} ${string}`

/**
 * The objects of a schema of version `version`. Functions only for the newest version: those of older ones are unknown.
 */
export function objectsOf(program: SchemaProgram, version: number): ReadonlySet<SchemaObject> {
  const objects = new Set<SchemaObject>()
  for (const { ddl } of program.steps.slice(0, version)) {
    for (const [, verb, kind = '', name = ''] of ddl.matchAll(CREATE_OR_DROP)) {
      const object = schemaObject(kind, name)
      if (verb === 'DROP') objects.delete(object)
      else objects.add(object)
    }
  }
  if (version === program.steps.length) {
    for (const text of program.functions) {
      for (const name of functionNames(text)) objects.add(`function ${name}`)
    }
  }
  return objects
}

/** One text that creates all functions, with everything filled in. */
export function functionsText({ functions }: SchemaProgram, statements: Statements): string {
  return functions.map((text) => statements.fill(text)).join('')
}

/** Distinguishes functions of one program from those of another, and names them. */
export function functionsMark(program: SchemaProgram, statements: Statements): string {
  const bytes = new TextEncoder().encode(functionsText(program, statements))
  const hash = murmur3x86(bytes).toString(16).padStart(8, '0')
  return `${hash}-${bytes.length}:${program.functions.flatMap(functionNames).join(',')}`
}

/** The names in a mark. */
export function namesInMark(mark: string): readonly string[] {
  return mark.slice(mark.indexOf(':') + 1).split(',')
}

const CREATE_OR_DROP =
  /^(CREATE|DROP) (?:UNIQUE |:unlogged )?(TABLE|INDEX|SEQUENCE) (?::schema\.)?([a-z0-9_]+)/gm

function functionNames(text: string): string[] {
  return [...text.matchAll(/^CREATE FUNCTION :schema\.([a-z0-9_]+)\(/gm)].map(
    ([, name = '']) => name,
  )
}

function schemaObject(kind: string, name: string): SchemaObject {
  switch (kind) {
    case 'TABLE':
      return `table ${name}`
    case 'INDEX':
      return `index ${name}`
    default:
      return `sequence ${name}`
  }
}
