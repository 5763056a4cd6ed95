// Package events holds the events of a run as Go values, and the reporters that print them: [JSON] as JSON Lines
// for programs, [Text] for people, and [Tally], which counts.
//
// The events:
//
//	event.go          most of them
//	resourcestart.go  a resource may begin
//	confirm.go        a host changes its own access
//	rollout.go        a rollout
//	watch.go          watched hosts
//	sites.go          a site without a worker
//	stream.go         passes events from a run to its reporters
//	mask.go           removes secrets
//
// As JSON:
//
//	json.go           writes lines
//	jsonresult.go     writes results, the most frequent lines, without reflection
//	schema.go         the JSON Schema of the lines
//	decode.go         reads lines
//	carry.go          events between a worker and the controller
//
// As text:
//
//	text.go           the lines of each event
//	textresult.go     the lines of a result
//	words.go          some of these texts for other packages
//	confirmtext.go    the lines of confirm.go
//	rollouttext.go    the lines of rollout.go
//	watchtext.go      the lines of watch.go
//	difftext.go       diffs of a resource
//	diffline.go       one line of a diff
//	diffwords.go      the changed words of a line
//	fold.go           prints equal results of several hosts once
//	factmarks.go      replaces facts in texts, so that hosts differ in nothing else
//	recap.go          the recap at the end of a run
//	recaphosts.go     hosts in the recap
//	recapapply.go     subtracts results of apply resources from the recap
//	refreshed.go      refreshes in the recap
//	restart.go        pending restarts in the recap
//	fetched.go        fetched files in the recap
//	unknown.go        unknown outcomes and predictions in the recap
//	page.go           text without control characters, and colours
//
// Other reporters:
//
//	tally.go          [Tally] counts, and computes the exit status
//	answers.go        [Answers] prints the answers of hosts to a query
//	dsc.go            [DSC] prints results in the format of dsc
//
// A run makes one [Stream] over its reporters and reports to it from any number of goroutines. The first event is
// a [RunStart], the last a [Summary].
//
// A managed host writes much of the text in events. Such text must not control the terminal of the reader. [Line]
// and [Block] remove control characters; Text prints only text that has passed through them. JSON escapes the same
// characters in its own way, so you can show its output with cat.
package events
