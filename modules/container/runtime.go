package container

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A runtime is podman or docker on a host.
type runtime struct {
	h       modules.Host
	program string
}

// runtime returns the program of the host that manages the container.
func (c *Container) runtime(h modules.Host) (runtime, error) {
	programs := c.programs()
	for _, program := range programs {
		if modules.HasProgram(h.Files, modules.DefaultPath, program) {
			return runtime{h, program}, nil
		}
	}
	return runtime{}, modules.Refuse("%s is not found in %s; install it first", strings.Join(programs, " or "), modules.DefaultPath)
}

// programs are the programs that may manage it.
func (c *Container) programs() []string {
	switch c.Provider {
	case "":
		return []string{podman, docker}
	case quadlet:
		return []string{podman}
	}
	return []string{c.Provider}
}

// lookTimeout, pullTimeout and runTimeout bound the run time of the programs.
const (
	lookTimeout = time.Minute
	pullTimeout = 30 * time.Minute
	runTimeout  = 5 * time.Minute
)

// look runs a query that changes nothing.
func (r runtime) look(ctx context.Context, argv ...string) (modules.Exit, error) {
	const most = 1 << 20
	return r.h.Commands.Probe(ctx, modules.Command{Argv: argv, Reads: containerEffect, Timeout: lookTimeout, MaxOutput: most})
}

// container returns the state of a container, in a check run the predicted one.
func (r runtime) container(ctx context.Context, name string) (live, error) {
	if state, predicted := r.h.Forecast.Lookup(containerEffect, name); predicted {
		return state.(live), nil
	}
	exit, err := r.look(ctx, r.program, "ps", "--all", "--filter", "name=^"+strings.ReplaceAll(name, ".", `\.`)+"$", "--format", "{{.Names}}")
	switch {
	case err != nil:
		return live{}, err
	case exit.Code != 0:
		return live{}, failed(r.program, "ps", exit)
	case strings.TrimSpace(exit.Stdout.Text) == "":
		return live{}, nil
	}
	if exit, err = r.look(ctx, r.program, "container", "inspect", name); err != nil {
		return live{}, err
	}
	if exit.Code != 0 {
		return live{}, failed(r.program, "container inspect", exit)
	}
	return inspected(exit.Stdout.Text)
}

// failed is the error of a failed query. The program's output may contain anything.
func failed(program, what string, exit modules.Exit) error {
	said, _, _ := strings.Cut(strings.TrimSpace(exit.Stderr.Text), "\n")
	return fmt.Errorf("%s %s: exit code %d: %s", program, what, exit.Code, said)
}

// imageID is the ID of an image, if the host has it.
func (r runtime) imageID(ctx context.Context, image string) (string, error) {
	exit, err := r.look(ctx, r.program, "image", "inspect", "--format", "{{.Id}}", image)
	if err != nil || exit.Code != 0 {
		return "", err
	}
	return plainID(exit.Stdout.Text), nil
}

// plainID is the ID of an image without the prefix that only docker has.
func plainID(id string) string { return strings.TrimPrefix(strings.TrimSpace(id), "sha256:") }

// outdated returns the digests of the host's and of the registry's manifest for the name of an image; newest is empty
// if they are equal. A digest always names the same image.
func (r runtime) outdated(ctx context.Context, image string) (have, newest string, err error) {
	if _, pulled := r.h.Forecast.Lookup(imageEffect, image); pulled || strings.Contains(image, "@") {
		return "", "", nil
	}
	if !modules.HasProgram(r.h.Files, modules.DefaultPath, "skopeo") {
		return "", "", modules.Refuse("'pull: always' needs skopeo, which is not found in %s; install skopeo first, or name the image by its digest", modules.DefaultPath)
	}
	known, err := r.look(ctx, r.program, "image", "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", image)
	if err != nil {
		return "", "", err
	}
	exit, err := r.look(ctx, "skopeo", "inspect", "--raw", "docker://"+image)
	switch {
	case err != nil:
		return "", "", err
	case exit.Code != 0:
		return "", "", failed("skopeo", "inspect", exit)
	}
	newest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(exit.Stdout.Text)))
	for line := range strings.Lines(known.Stdout.Text) {
		if _, digest, named := strings.Cut(strings.TrimSpace(line), "@"); named {
			if digest == newest {
				return "", "", nil
			}
			have = digest
		}
	}
	return have, newest, nil
}

// run runs the program with these words.
func (r runtime) run(ctx context.Context, stdin string, words ...string) error {
	return modules.RunProgram(ctx, r.h, modules.Command{Argv: append([]string{r.program}, words...), Timeout: runTimeout, Stdin: stdin})
}

// pull pulls an image on the host.
func (r runtime) pull(ctx context.Context, image string) error {
	return modules.RunProgram(ctx, r.h, modules.Command{Argv: []string{r.program, "pull", "--quiet", image}, Timeout: pullTimeout})
}

// fresh is the name of a new container until it replaces the existing one of a name. It removes a container of that name that
// a killed run has left.
func (r runtime) fresh(ctx context.Context, replaced string) (string, error) {
	name := replaced + "-ccm-push-new"
	rest, err := r.container(ctx, name)
	if err == nil && rest.exists {
		err = r.run(ctx, "", "rm", "--force", name)
	}
	return name, err
}
