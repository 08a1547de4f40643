import { expect, test } from 'vitest'
import { addressOf, sidebarOf, titleOf } from './sidebar.ts'

const titles = new Map([
  ['index.md', 'Home'],
  ['guide/b.md', 'B'],
  ['guide/a.md', 'A'],
  ['spec/z.md', 'Z'],
  ['spec/README.md', 'The rules'],
  ['spec/a.md', 'A rule'],
])

test('pages stand in the order of their group, and the rest of a folder by name', () => {
  const { groups, unlisted, missing } = sidebarOf(
    [
      { title: 'Start', pages: ['index.md', 'guide/b.md', 'guide/a.md'] },
      { title: 'Rules', pages: ['spec/README.md', 'spec/'], collapsed: true },
    ],
    titles,
  )
  expect(groups).toEqual([
    {
      text: 'Start',
      items: [
        { text: 'Home', link: '/' },
        { text: 'B', link: '/guide/b.html' },
        { text: 'A', link: '/guide/a.html' },
      ],
    },
    {
      text: 'Rules',
      collapsed: true,
      items: [
        { text: 'The rules', link: '/spec/' },
        { text: 'A rule', link: '/spec/a.html' },
        { text: 'Z', link: '/spec/z.html' },
      ],
    },
  ])
  expect([unlisted, missing]).toEqual([[], []])
})

test('a page that stands in no group is named, and so is one that is not there', () => {
  const { groups, unlisted, missing } = sidebarOf(
    [{ title: 'Start', pages: ['index.md', 'gone.md', 'spec/'] }],
    titles,
  )
  expect(groups[0]?.items).toHaveLength(4)
  expect(unlisted).toEqual(['guide/a.md', 'guide/b.md'])
  expect(missing).toEqual(['gone.md'])
})

test('a page has the title of its first heading, and the README of a folder its address', () => {
  expect(titleOf('Text\n\n# What `this` is\n\n## Part\n# Other')).toBe('What this is')
  expect(titleOf('no heading')).toBe('')
  expect(addressOf('recipes/README.md')).toBe('/recipes/')
  expect(addressOf('index.md')).toBe('/')
  expect(addressOf('recipes/search-index.md')).toBe('/recipes/search-index.html')
})
