import { posix } from 'node:path'
import { RECURSIVE_IMPORTS } from './arrows.ts'
import type { Violation } from './import-rules.ts'
import type { SourceFile, Workspace } from './read-workspace.ts'

interface Edge {
  readonly from: string
  readonly to: string
  readonly example: string
}

/**
 * Cycles among the folders and files of a package, by imports of values and of types. Each import is an edge between two
 * siblings: the children of the folder that holds both files.
 */
export function importCycleViolations(workspace: Workspace): Violation[] {
  return workspace.packages.flatMap(({ folder, files }) => {
    const edgesByParent = new Map<string, Edge[]>()
    for (const file of files.filter(({ isTest, path }) => !isTest && !path.endsWith('/index.ts'))) {
      for (const [parent, edge] of siblingEdges(file)) {
        edgesByParent.set(parent, [...(edgesByParent.get(parent) ?? []), edge])
      }
    }
    return [...edgesByParent].flatMap(([parent, edges]) =>
      findCycles(edges).map(
        (cycle) =>
          `${folder}: folders or files import each other in a cycle: ${describe(parent, cycle)}`,
      ),
    )
  })
}

function siblingEdges(file: SourceFile): [parent: string, edge: Edge][] {
  return file.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .flatMap(({ specifier, line }): [string, Edge][] => {
      const path = posix.join(posix.dirname(file.path), specifier)
      if (RECURSIVE_IMPORTS.has(`${file.path} -> ${path}`)) return []
      const source = file.path.split('/')
      const target = path.split('/')
      const shared = source.findIndex((part, index) => part !== target[index])
      const from = source[shared]
      const to = target[shared]
      if (from === undefined || to === undefined) return []
      return [[source.slice(0, shared).join('/'), { from, to, example: `${file.path}:${line}` }]]
    })
}

/** One cycle per strongly connected group is enough for a message: the first that a depth-first walk closes. */
function findCycles(edges: readonly Edge[]): Edge[][] {
  const outgoing = new Map<string, Edge[]>()
  for (const edge of edges) outgoing.set(edge.from, [...(outgoing.get(edge.from) ?? []), edge])
  const cycles: Edge[][] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly Edge[]): void => {
    const start = path.findIndex(({ from }) => from === node)
    if (start >= 0) {
      cycles.push(path.slice(start))
      return
    }
    if (done.has(node)) return
    const seen = new Set<string>()
    for (const edge of outgoing.get(node) ?? []) {
      if (seen.has(edge.to)) continue
      seen.add(edge.to)
      walk(edge.to, [...path, edge])
    }
    done.add(node)
  }
  for (const node of [...outgoing.keys()].sort()) walk(node, [])
  return cycles
}

function describe(parent: string, cycle: readonly Edge[]): string {
  const inside = parent.split('/').slice(3).join('/')
  const name = (part: string): string => (inside === '' ? part : `${inside}/${part}`)
  return cycle
    .map(({ from, to, example }) => `${name(from)} -> ${name(to)} (${example})`)
    .join(', ')
}
