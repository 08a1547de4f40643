import { Store } from '@tidemark/store'
import { messagingConformance } from '@tidemark/testing/conformance'
import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll } from 'vitest'
import { openPostgresEngine } from './postgres-engine.ts'

const server = await sharedPostgres()
const url = await server.createDatabase()
let stores = 0
afterAll(() => server[Symbol.asyncDispose]())

messagingConformance({
  name: 'postgres',
  async open({ clock }) {
    // Tests step the clock.
    const schema = `store_${++stores}`
    const openAgain = async () => {
      const engine = await openPostgresEngine({ url, schema, clock, storeTime: 'process' })
      return Store.open({ engine })
    }
    const store = await openAgain()
    return { store, openAgain, dispose: () => store.close() }
  },
})
