// Package render is one evaluation for one host, in whatever language.
//
// What it can see, and what it looks at:
//
//   - [Env] has the roots Facts, Data, Environ, Item and those of an [Inventory], and finds
//     paths below them.
//   - [Files] is the folder of the play, which is never left.
//   - [Reads] is what an expression or template can read, taken from its syntax tree:
//     which facts a run must ask for, and by [Inputs] which hosts get the same text.
//   - [Flow] is where a value can come from, and with [Taint] whether a host has had a
//     say in it, as it may not have in a path.
//   - Values are plain: map[string]any, []any, string, bool, int64, float64 and nil
//     ([PlainCopy], [TextOf], [KindName]).
//
// How it goes:
//
//   - A [Run] has its bounds, and as methods the functions that two languages have.
//   - A [Call] leads from one template to another, and a [Scaffold] has many.
//   - A [Template] is parsed once and rendered by an [Engine].
//
// No language may come in: they are handed in as [Languages].
package render
