import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { PAGE_GROUPS } from './page-groups.ts'
import { sidebarOf, titleOf, type Sidebar } from './sidebar.ts'

const DOCS = join(ROOT, 'docs')
/** Where TypeDoc writes the API reference; not committed. */
const API = 'api/'

/** The pages of docs/ that people or scripts wrote, with their titles. */
export function readTitles(): ReadonlyMap<string, string> {
  const paths = globSync('**/*.md', { cwd: DOCS }).filter((path) => !path.startsWith(API))
  return new Map(
    paths.toSorted().map((path) => [path, titleOf(readFileSync(join(DOCS, path), 'utf8'))]),
  )
}

/** The sidebar of docs/. */
export function readSidebar(): Sidebar {
  return sidebarOf(PAGE_GROUPS, readTitles())
}
