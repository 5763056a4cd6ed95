// Package render is one evaluation for one host, in any language.
//
// Its inputs:
//
//   - [Env] has the roots Facts, Data, Environ, Item and the roots of an [Inventory], and finds
//     paths below them.
//   - [Files] is the folder of the play. Nothing outside of it is read.
//   - [Reads] has the values that an expression or template can read, taken from its syntax tree:
//     the facts that a run must request, and by [Inputs] the hosts that get the same text.
//   - [Flow] has the possible sources of a value, and with [Taint] reports whether a host has
//     influenced it, which is not allowed for a path.
//   - [KeyOrder] has the order of the keys of maps, for Jinja.
//   - Values are plain: map[string]any, []any, string, bool, int64, float64 and nil
//     ([PlainCopy], [TextOf], [KindName]).
//
// Its steps:
//
//   - A [Run] has its limits, and as methods the functions that two languages have.
//   - A [Call] leads from one template to another, and a [Scaffold] has many.
//   - A [Template] is parsed once and rendered by an [Engine].
//
// Languages do not belong here: callers pass them as [Languages].
package render
