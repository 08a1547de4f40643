import { collectionConformance } from '@tidemark/testing/conformance'
import { beforeEach } from 'vitest'
import { gatewayUnderTest } from './gateway-under-test.fixture.ts'
import { storeOverHttp } from './store-over-http.fixture.ts'

/** Cases of what a store's own collection has beyond the contracts: texts of documents, and ids such as `..`. */
const NOT_OF_THE_CONTRACTS: ReadonlySet<string> = new Set([
  'ST-3 writes and reads give the stored text, the same from both',
  // Addresses do not keep it: see document-text.test.ts.
  'ids with reserved characters, too long or no text are refused',
  // A gateway refuses in every container what the service refuses: see tests/interop/ttl.test.ts.
  'TTL-9 with TTL off it is an ordinary property; invalid ones count as absent later',
  'TTL-9 it is judged by the definition in force, not by what a handle remembers',
  'a time to live is checked while the collection has one, and an ordinary property else',
  // A function cannot be sent in a batch.
  'ST-3 both its condition and its etag have to hold, in a batch',
  // The body of such requests is refused before.
  'ST-3 what is no list of operations is no patch',
  'a batch that is more than one commit may have is refused for good',
  'ST-4 a batch says of each operation what text it left, and whether it made the document',
  // The client has no bulk, and its single writes say nothing of an option that is misspelt.
  'ST-12 each operation has the outcome that it would have alone, in the order of the input',
])

beforeEach(({ task, skip }) => {
  skip(NOT_OF_THE_CONTRACTS.has(task.name), 'not of the contracts')
})

// Both contracts over the wire, by everything that a store's own collection must do.
collectionConformance({
  name: 'documents and feed over HTTP',
  async open({ clock, maintenance }) {
    const under = await gatewayUnderTest({ clock, maintenance })
    return {
      store: storeOverHttp(under.store, under.connect()),
      dispose: async () => under[Symbol.asyncDispose](),
    }
  },
})
