import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n')
/** Each picture that a page shows, and in which. */
const shown = pages.flatMap((page) => {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : ''
  const named = text.matchAll(/(?:!\[[^\]]+\]\(|\bsrc="|\bsrcset=")([^)"\s]+\.(?:svg|png))/g)
  return [...named].map(([, path = '']) => join(dirname(page), path))
})
const pictures = globSync('docs/pictures/*').sort()

test('pages show pictures that exist, and every picture is shown', () => {
  expect(pictures.length).toBeGreaterThan(5)
  expect([...new Set(shown)].sort()).toEqual(pictures)
})

test.each(pictures.filter((file) => file.endsWith('.svg')))(
  '%s says what it shows, has light and dark, and is readable on a phone',
  (file) => {
    const text = readFileSync(file, 'utf8')
    expect(text.length).toBeLessThan(10_000)
    expect(text).toMatch(/<title id="title">.{5,}<\/title>\s*<desc id="desc">.{20,}<\/desc>/)
    expect(text).toContain('@media (prefers-color-scheme:dark)')
    // A colour outside of the style would be the same in both.
    expect(text.replace(/<style>[^]*<\/style>/, '')).not.toMatch(
      /#[0-9a-f]{3,6}\b|\b(?:fill|stroke)=/,
    )
    // At 390 px about three quarters of its size: letters of 13 px have 10.
    expect(Number(/viewBox="0 0 (\d+) /.exec(text)?.[1])).toBeLessThanOrEqual(440)
    const sizes = [...text.matchAll(/font(?:-size)?:(\d+)px/g)].map(([, size]) => Number(size))
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(13)
  },
)

test.each(pictures.filter((file) => /(?<!-dark)\.png$/.test(file)))(
  '%s is there in dark',
  (file) => {
    const dark = file.replace('.png', '-dark.png')
    expect(pictures).toContain(dark)
    expect(statSync(dark).size).not.toBe(statSync(file).size)
  },
)
