import { fileURLToPath } from 'node:url'
import type { UserConfig } from 'vitepress'

type Plugin = NonNullable<NonNullable<UserConfig['vite']>['plugins']>[number]

/** Pages become Vue components, and stand in ../docs, from where nothing finds the Vue in this folder. */
export const vueOfSite: Plugin = {
  name: 'vue-of-site',
  enforce: 'pre',
  resolveId(id, _importer, { ssr = false }) {
    if (!/^vue(?:\/|$)/.test(id)) return null
    return ssr ? { id, external: true } : this.resolve(id, HERE, { skipSelf: true })
  },
}

const HERE = fileURLToPath(import.meta.url)
