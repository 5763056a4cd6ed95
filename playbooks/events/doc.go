// Package events holds what happens in a run, as Go values, and the reporters
// that print it: [JSON] as JSON Lines for programs, [Text] for people, and
// [Tally], which counts.
//
//	event.go       the events; schema.go: as a JSON Schema; decode.go: read again
//	stream.go      from a run to its reporters
//	json.go        JSON: lines for programs; jsonresult.go: results, of which there are many
//	text.go        Text: each event as lines for people, at once or through
//	textresult.go    resultLines: the lines of a resource; difftext.go, diffline.go, diffwords.go: its diffs
//	fold.go          folding: of a batch, what is equal is told once
//	recap.go         recap: what is told at the end, of hosts (recaphosts.go), refreshes (refreshed.go) restarts (restart.go) and fetched files (fetched.go)
//	page.go          page: harmless text, and colours
//	tally.go       Tally: counts, and what the exit status is made of
//	answers.go     Answers: what hosts were asked; dsc.go: DSC, documents as dsc prints them
//
// A run makes one [Stream] over its reporters and reports to it from as many
// goroutines as it likes. The first event is a [RunStart], the last a [Summary].
//
// Much of an event was written by a managed host, and such text must not draw on
// the terminal of whoever reads it. [Line] and [Block] make text harmless; Text
// prints nothing that has not passed through them, and JSON escapes the same
// characters in its own way, so that its output can be shown with cat.
package events
