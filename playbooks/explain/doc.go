// Package explain explains one resource on one host: why it is in the run, the origin of each of its properties, and
// the resources before and after it.
//
//	rendered, err := compiler.Render(ctx, host)
//	for _, i := range explain.Find(rendered, "file#/etc/motd") {
//	one, err := explain.Of(ctx, play, host.Name, rendered, i)
//	fmt.Print(one.Text())
//	}
//
// The values of a sensitive resource, and their origins, are withheld.
package explain
