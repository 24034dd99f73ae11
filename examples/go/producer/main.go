// Command producer publishes a job and prints its result.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/images"
	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

func main() {
	job := pumphouse.NewJob{Queue: images.Queue, Type: "resize", Data: images.Resize{File: "cat.png", Width: 320}, Tries: 3}
	ended, err := images.Connect().PublishAndWait(context.Background(), job, 20*time.Second)
	if err != nil {
		log.Fatal(err) // A *pumphouse.Error has the code, the status and the fields that the server refused.
	}
	var resized images.Resized
	if ended.State != "done" || ended.Result.Decode(&resized) != nil {
		log.Fatalf("not done: %s", ended.State)
	}
	fmt.Println("done:", resized.File)
}
