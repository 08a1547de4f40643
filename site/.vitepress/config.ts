import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type DefaultTheme, type MarkdownOptions } from 'vitepress'
import { headingAnchor } from '../../scripts/broken-links.ts'
import { readSidebar } from '../../scripts/docs/pages.ts'
import { addressOf, siteFileOf } from '../../scripts/docs/sidebar.ts'
import { siteLink, type KindOfPath } from '../../scripts/docs/site-link.ts'
import { ADDRESS, ROOT } from '../../scripts/repository.ts'
import { vueOfSite } from './vue-of-site.ts'

const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#2b6cb0" stroke-width="3" stroke-linecap="round">' +
      '<path d="M2 9q5-5 10 0t10 0M2 17q5-5 10 0t10 0"/></svg>',
  )

export default defineConfig({
  srcDir: '../docs',
  outDir: 'dist',
  cacheDir: '.cache',
  lang: 'en-GB',
  title: 'Tidemark',
  description: 'Documents with a change feed, and workers that share it',
  head: [['link', { rel: 'icon', href: ICON }]],
  rewrites: (page) => siteFileOf(page),
  // Otherwise each page holds the names of all the others.
  metaChunk: true,
  vite: { plugins: [vueOfSite], build: { chunkSizeWarningLimit: 10_000 } },
  markdown: { anchor: { slugify: headingAnchor }, config: linkAsRepository },
  themeConfig: {
    nav: [
      { text: 'Concepts', link: '/concepts' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Source', link: ADDRESS },
    ],
    sidebar: {
      '/': readSidebar().groups,
      '/api/': [{ text: 'API reference', items: apiEntries() }],
    },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render(text, env, md) {
          // Colours of code are of no use to the search, and took most of its time.
          md.options.highlight = null
          return md.render(env.relativePath.startsWith('api/') ? withoutMembers(text) : text, env)
        },
      },
    },
  },
})

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0]

/** Links of our pages lead to other pages of the site, or to the repository. */
function linkAsRepository(md: Markdown): void {
  md.core.ruler.push('site-link', ({ tokens, env }) => {
    const { relativePath } = env as { readonly relativePath: string }
    if (relativePath.startsWith('api/')) return
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href === null) continue
      token.attrSet('href', siteLink(relativePath, href, kindInTree))
    }
  })
}

const kindInTree: KindOfPath = (path) => {
  const stats = statSync(join(ROOT, path), { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  return stats.isDirectory() ? 'folder' : 'file'
}

/** The entries of the packages, as they are imported. Their pages list what they export. */
function apiEntries(): DefaultTheme.SidebarItem[] {
  const pages = globSync('**/*.md', { cwd: join(ROOT, 'docs/api') })
  return pages.toSorted().map((page) => ({
    text: page === 'index.md' ? 'Overview' : page.replace('.md', ''),
    link: addressOf(`api/${page}`),
  }))
}

/** A page of the API reference with what each export is, and without its members, which would be most of the index. */
function withoutMembers(page: string): string {
  return page.replaceAll(/^#### [\s\S]*?(?=^#{1,3} |$(?![\s\S]))/gm, '')
}
