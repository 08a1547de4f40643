import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 100,
  messageSequences: 40,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
