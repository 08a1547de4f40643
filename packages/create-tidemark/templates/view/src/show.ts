import { openStore, openView } from 'tidemark'
import { VIEW } from './customer-totals.ts'

const store = await openStore(process.env['TIDEMARK_STORE'] ?? './data')
for await (const entry of openView(store.database('shop'), VIEW).entries()) {
  console.log(JSON.stringify(entry))
}
await store.close()
