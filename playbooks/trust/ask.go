package trust

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// ask has a person decide about all new hosts of a round at once.
func (e *enrolment) ask(ctx context.Context, fresh []*verdict) (sure bool, err error) {
	keys := 0
	for _, v := range fresh {
		keys += len(v.keys)
	}
	what := "Is this its key? It"
	switch {
	case len(fresh) > 1:
		what = fmt.Sprintf("Are these the keys of the %d hosts? They", len(fresh))
	case keys > 1:
		what = "Are these its keys? They"
	}
	fmt.Fprintf(e.options.Err, "%s will be trusted from now on (%s). [y/N] ", what, strings.Join(e.files(fresh), ", "))
	answer := make(chan string, 1)
	go func() { // ends with the program if nobody answers: a terminal cannot be given up
		line, _ := bufio.NewReader(e.options.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case said := <-answer:
		return said == "y" || said == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(e.options.Err)
		return false, ctx.Err()
	}
}
