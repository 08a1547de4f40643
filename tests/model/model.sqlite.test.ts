import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 20,
  messageSequences: 15,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
