/**
 * The key that Microsoft publishes for its emulator. Everybody knows it: a gateway that accepts it listens on loopback only, and
 * serves only requests whose Host, and Origin if there is one, are loopback names.
 */
export const EMULATOR_KEY =
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='
