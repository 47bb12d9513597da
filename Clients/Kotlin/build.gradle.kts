// For apps that build with Gradle: copy this folder, or include it with `includeBuild`. This repository's own tests
// compile the sources without Gradle (scripts/common.sh, kotlin_compile), so this file is not run there.
plugins {
    kotlin("jvm") version "2.3.10"
    `java-library`
    `maven-publish`
}

group = "coordinator"
version = "0.1.0"

repositories { mavenCentral() }

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
}

kotlin {
    jvmToolchain(17)
    explicitApi()
}

// src/test has the driver of this repository's tests, which is no unit test.
sourceSets["test"].kotlin.setSrcDirs(emptyList<String>())
