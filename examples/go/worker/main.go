// Command worker runs jobs until SIGTERM or SIGINT.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"example.com/images"
	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

func resize(ctx context.Context, job *pumphouse.Job) (any, error) {
	var data images.Resize
	if err := job.Decode(&data); err != nil || !strings.HasSuffix(data.File, ".png") {
		return nil, &pumphouse.FailError{Err: errors.New("only PNG files"), Group: "format"}
	}
	fmt.Println("resized", data.File) // The work. It ends early when ctx does: the lease may be lost.
	return images.Resized{File: fmt.Sprintf("%d/%s", data.Width, data.File)}, ctx.Err()
}

func main() {
	client, err := images.Connect()
	if err != nil {
		log.Fatal(err)
	}
	worker, err := client.NewWorker(pumphouse.WorkerOptions{Queues: []string{images.Queue}, Concurrency: 4})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle("resize", resize)
	if err := worker.RunUntilSignal(context.Background()); err != nil {
		log.Fatal(err)
	}
}
