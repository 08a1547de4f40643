import { effect, signal, type Signal } from '@preact/signals'
import { schemeChanges } from './platform/browser.ts'

export type Theme = 'auto' | 'light' | 'dark'

const KEY = 'tidemark-theme'

export const theme: Signal<Theme> = signal(stored())

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
  schemeChanges.value = schemeChanges.peek() + 1
  try {
    localStorage.setItem(KEY, theme.value)
  } catch {
    // A browser that keeps nothing for this page: the choice lasts as long as the page.
  }
})

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : 'auto'
  } catch {
    return 'auto'
  }
}
