package catalog

import (
	"context"
	"fmt"
)

// Next compiles the next stage of a play: h.Results has the results of the entries before Catalog.Until. These entries
// stay unchanged, although their inputs, such as a random text, may differ.
func (c *Compiler) Next(ctx context.Context, before *Compiled, h Host) (*Compiled, error) {
	next, err := c.Compile(ctx, h)
	if err != nil {
		return nil, err
	}
	return next, next.follow(before)
}

// follow copies the entries of earlier stages into a stage.
func (c *Compiled) follow(before *Compiled) error {
	until := before.Catalog.Until
	if len(c.Catalog.Entries) < until {
		return fmt.Errorf("the resource list changed between two evaluations (it had at least %d resources, now it has %d); do not use random values or the time in names or conditions", until, len(c.Catalog.Entries))
	}
	for i, e := range before.Catalog.Entries[:until] {
		if now := &c.Catalog.Entries[i]; now.Type != e.Type || now.Name != e.Name {
			return fmt.Errorf("the resource list changed between two evaluations (%s instead of %s); do not use random values or the time in names or conditions", now.Ref(), e.Ref())
		}
		c.Catalog.Entries[i], c.common[i], c.written[i] = e, false, before.written[i]
		if alone := before.Elsewhere[i]; alone != nil {
			c.Elsewhere[i] = alone
		}
		delete(c.Imports, i)
		if imports := before.Imports[i]; len(imports) > 0 {
			if c.Imports == nil {
				c.Imports = map[int][]Import{}
			}
			c.Imports[i] = imports
		}
	}
	c.Catalog.From, c.Catalog.Fixed = until, before.Catalog.Fixed
	c.Contents.texts = merged(c.Contents.texts, before.Contents.texts)
	c.Contents.files = merged(c.Contents.files, before.Contents.files)
	c.Contents.downloads = merged(c.Contents.downloads, before.Contents.downloads)
	c.NeedsFull = c.NeedsFull || before.NeedsFull
	return nil
}
