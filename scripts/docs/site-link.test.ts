import { expect, test } from 'vitest'
import { pageOf } from '../repository.ts'
import { siteLink, type KindOfPath } from './site-link.ts'

const KINDS: Readonly<Record<string, ReturnType<KindOfPath>>> = {
  'packages/x/README.md': 'file',
  examples: 'folder',
  'docs/a picture.svg': 'file',
}
const from = (page: string, href: string): string => siteLink(page, href, (path) => KINDS[path])

test('links between pages stay, and the README of a folder is its index', () => {
  expect(from('guide/a.md', '../errors.md#err_x')).toBe('../errors.md#err_x')
  expect(from('guide/a.md', '#part')).toBe('#part')
  expect(from('concepts.md', 'recipes/README.md#x')).toBe('recipes/index.md#x')
  expect(from('spec/store.md', 'README.md')).toBe('index.md')
})

test('links that leave docs/ lead to the address of the project', () => {
  expect(from('guide/a.md', '../../packages/x/README.md#use')).toBe(
    `${pageOf('packages/x/README.md', 'blob')}#use`,
  )
  expect(from('concepts.md', '../examples/')).toBe(pageOf('examples', 'tree'))
  expect(from('concepts.md', 'a%20picture.svg')).toBe(pageOf('docs/a%20picture.svg', 'blob'))
  expect(from('concepts.md', 'https://other.example/x')).toBe('https://other.example/x')
})

test('a link that leaves docs/ and leads nowhere is refused', () => {
  expect(() => from('guide/a.md', '../../gone.ts')).toThrow(
    'docs/guide/a.md: ../../gone.ts is not there',
  )
})
