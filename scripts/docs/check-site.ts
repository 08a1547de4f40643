import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../repository.ts'
import {
  brokenSiteLinks,
  loadedFromElsewhere,
  wordsNotFound,
  type BuiltPages,
  type Find,
} from './built-site.ts'
import { readSidebar, readTitles } from './pages.ts'
import { addressOf } from './sidebar.ts'

const DIST = join(ROOT, 'site/dist')
const INDEX = 'assets/chunks/@localSearchIndexroot.*.js'

/** What readers look for, and the page on which they must find it. */
const EXPECTED: ReadonlyMap<string, string> = new Map([
  ['leases over hosts', '/concepts.html'],
  ['dead letter', '/guide/dead-letters.html'],
  ['ERR_HORIZON_PASSED', '/errors.html'],
  ['leaderboard', '/recipes/leaderboard.html'],
  ['kubernetes', '/recipes/kubernetes.html'],
  ['EXP-26', '/spec/messages.html'],
  ['RedisLeaseStore', '/api/@tidemark/lease-redis.html'],
])

/** Pages that the sidebar does not list, and pages that it lists and that are not there. */
export function checkSidebar(): readonly string[] {
  const { unlisted, missing } = readSidebar()
  return [
    ...unlisted.map((page) => `docs/${page} stands in no group of scripts/docs/page-groups.ts`),
    ...missing.map((page) => `scripts/docs/page-groups.ts names docs/${page}, which is not there`),
  ]
}

/** What is wrong with the site that was built. */
export async function checkSite(): Promise<{ pages: number; problems: readonly string[] }> {
  const pages: BuiltPages = new Map(
    globSync('**/*.html', { cwd: DIST }).map((path) => [
      path,
      readFileSync(join(DIST, path), 'utf8'),
    ]),
  )
  const absent = [...readTitles().keys()].filter((page) => {
    const path = addressOf(page).slice(1)
    return !pages.has(path === '' || path.endsWith('/') ? `${path}index.html` : path)
  })
  const styles = globSync('assets/*.css', { cwd: DIST }).map(
    (path) => [path, readFileSync(join(DIST, path), 'utf8')] as const,
  )
  const problems = [
    ...absent.map((page) => `docs/${page} is not on the site`),
    ...brokenSiteLinks(pages),
    ...[...pages, ...styles].flatMap(([path, text]) =>
      loadedFromElsewhere(text).map((address) => `${path} loads ${address}`),
    ),
    ...wordsNotFound(EXPECTED, await readSearch()),
  ]
  return { pages: pages.size, problems }
}

/** The search of the site, by the library and the options with which its pages search. */
async function readSearch(): Promise<Find> {
  const [file] = globSync(INDEX, { cwd: DIST })
  if (file === undefined) return () => []
  const library = createRequire(join(ROOT, 'site/package.json')).resolve('minisearch')
  const { default: index } = (await import(pathToFileURL(join(DIST, file)).href)) as {
    readonly default: string
  }
  const { default: MiniSearch } = (await import(pathToFileURL(library).href)) as {
    readonly default: MiniSearchClass
  }
  const search = MiniSearch.loadJSON(index, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
  })
  return (words) => search.search(words).map(({ id }) => id)
}

/** What we use of minisearch, which stands in the site's folder only. */
interface MiniSearchClass {
  loadJSON(
    index: string,
    options: object,
  ): { search(words: string): readonly { readonly id: string }[] }
}
